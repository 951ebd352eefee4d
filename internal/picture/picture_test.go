package picture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// recorded is what testdata/record.py writes.
type recorded struct {
	Files []struct {
		Name  string
		File  []byte
		Exact bool
		pixels
	}
	Large []struct { // 1,000 by 1,000 pixels that take the most memory
		Name string
		File []byte
	}
	Resizes []struct {
		Filter   Filter
		From, To pixels
	}
	Processes []struct {
		Config json.RawMessage
		From   pixels
		Shape  []int
		Values []byte
	}
}

type pixels struct {
	W, H int
	Pix  []byte
}

func (p pixels) image() *Image { return &Image{p.W, p.H, p.Pix} }

var cases = sync.OnceValues(func() (c recorded, err error) {
	f, err := os.Open("testdata/cases.json.gz")
	if err != nil {
		return c, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return c, err
	}
	return c, json.NewDecoder(z).Decode(&c)
})

func read(t testing.TB) recorded {
	t.Helper()
	c, err := cases()
	if err != nil || len(c.Files) < 30 || len(c.Resizes) < 40 || len(c.Processes) < 12 {
		t.Fatalf("%d files, %d resizes, %d processes, %v", len(c.Files), len(c.Resizes), len(c.Processes), err)
	}
	return c
}

// Every kind of file gives the pixels that Pillow reads; where a format leaves the decoder
// room, nearly so.
func TestDecode(t *testing.T) {
	for _, c := range read(t).Files {
		t.Run(c.Name, func(t *testing.T) {
			m, err := Decode(c.File)
			if err != nil {
				t.Fatal(err)
			}
			if m.W != c.W || m.H != c.H || len(m.Pix) != len(c.Pix) {
				t.Fatalf("%d×%d, %d bytes; want %d×%d", m.W, m.H, len(m.Pix), c.W, c.H)
			}
			far, sum := 0, 0
			for i, x := range m.Pix {
				d := int(x) - int(c.Pix[i])
				far, sum = max(far, d, -d), sum+max(d, -d)
			}
			if mean := float64(sum) / float64(len(c.Pix)); c.Exact && far > 0 || far > 48 || mean > 8 {
				t.Errorf("pixels differ by up to %d, by %.2f on average", far, mean)
			}
		})
	}
}

// Of colours with 16 bits the upper 8 are taken, and a transparent pixel keeps its colour.
func TestDecodeDeep(t *testing.T) {
	src := image.NewNRGBA64(image.Rect(0, 0, 2, 1))
	src.SetNRGBA64(0, 0, color.NRGBA64{0x12ff, 0x3400, 0x56ff, 0})
	src.SetNRGBA64(1, 0, color.NRGBA64{0xffff, 0x8000, 0, 0xffff})
	var b bytes.Buffer
	if err := png.Encode(&b, src); err != nil {
		t.Fatal(err)
	}
	m, err := Decode(b.Bytes())
	if err != nil || !slices.Equal(m.Pix, []uint8{0x12, 0x34, 0x56, 0xff, 0x80, 0}) {
		t.Errorf("%v, %v", m, err)
	}
}

// A first frame that is smaller than its GIF lies where it says.
func TestDecodeFrame(t *testing.T) {
	p := color.Palette{color.Black, color.White}
	frame := image.NewPaletted(image.Rect(1, 1, 3, 2), p)
	frame.Pix = []uint8{1, 1}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0}, Config: image.Config{ColorModel: p, Width: 4, Height: 3}}); err != nil {
		t.Fatal(err)
	}
	m, err := Decode(b.Bytes())
	if err != nil || m.W != 4 || m.H != 3 {
		t.Fatalf("%+v, %v", m, err)
	}
	for i := range 12 {
		if want := i == 5 || i == 6; (m.Pix[3*i] == 255) != want {
			t.Errorf("pixel %d is %d", i, m.Pix[3*i])
		}
	}
}

// pngOf is the front of a PNG file that says so many pixels.
func pngOf(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, w)
	b = binary.BigEndian.AppendUint32(b, h)
	b = append(b, 8, 2, 0, 0, 0)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[12:]))
}

// riff is a WebP file of one chunk behind an extended header that says 1×1 pixels.
func riff(kind string, content []byte) []byte {
	b := append([]byte("WEBPVP8X\x0a\x00\x00\x00"), make([]byte, 10)...)
	b = append(b, kind...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	b = append(b, content...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(b))), b...)
}

// Decoding allocates no more for a pixel than MaxPixels says: in half as many where it takes more.
func TestDecodeMemory(t *testing.T) {
	type large struct {
		name string
		file []byte
		most uint64 // bytes for each of 1,000,000 pixels
	}
	var files []large
	for _, c := range read(t).Large {
		files = append(files, large{c.Name, c.File, 32})
		beyond := bytes.Replace(c.File, []byte{0x03, 0xe8, 0x03, 0xe8}, []byte{0x17, 0x70, 0x17, 0x70}, 1) // 6,000 by 6,000
		if _, err := Decode(beyond); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "32 million") {
			t.Errorf("%s of 36 million pixels: %v", c.Name, err)
		}
		// The decoder passes over marks without content, and over what is no mark.
		odd := slices.Concat(beyond[:2], []byte{0xff, 0xd0, 7, 0xff, 0, 0xff}, beyond[2:])
		if _, err := Decode(odd); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "32 million") {
			t.Errorf("%s of 36 million pixels behind odd marks: %v", c.Name, err)
		}
	}
	deep := image.NewNRGBA64(image.Rect(0, 0, 1000, 1000))
	add := func(name string, most uint64, encode func(io.Writer) error) {
		t.Helper()
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		files = append(files, large{name, b.Bytes(), most})
	}
	add("PNG of 16 bits", 16, func(w io.Writer) error { return png.Encode(w, deep) })
	add("TIFF of 16 bits", 32, func(w io.Writer) error { return tiff.Encode(w, deep, &tiff.Options{Compression: tiff.Deflate}) })
	shallow := New(1000, 1000).Std()
	add("TIFF", 16, func(w io.Writer) error { return tiff.Encode(w, shallow, &tiff.Options{Compression: tiff.Deflate}) })
	add("PNG", 16, func(w io.Writer) error { return png.Encode(w, shallow) })
	add("GIF", 16, func(w io.Writer) error { return gif.Encode(w, shallow, nil) })
	add("BMP", 16, func(w io.Writer) error { return bmp.Encode(w, shallow) })
	add("JPEG", 16, func(w io.Writer) error { return jpeg.Encode(w, shallow, nil) })
	for _, c := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Decode(c.file)
		runtime.ReadMemStats(&after)
		if err != nil || m.W*m.H != 1_000_000 {
			t.Errorf("%s: %v", c.name, err)
		}
		took := float64(after.TotalAlloc-before.TotalAlloc) / 1e6
		t.Logf("%s: %.1f bytes a pixel", c.name, took)
		if took > float64(c.most) {
			t.Errorf("%s: %.1f bytes a pixel, at most %d were promised", c.name, took, c.most)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	files := map[string][]byte{}
	for _, c := range read(t).Files {
		files[c.Name] = c.File
	}
	for _, c := range []struct {
		name, says string
		file       []byte
	}{
		{"nothing", "no bytes", nil},
		{"text", "no format that is read", []byte("hello")},
		{"too long", "64 are read", make([]byte, MaxBytes+1)},
		{"wide", "30000×2 pixels", pngOf(30_000, 2)},
		{"large", "at most 20000 a side and 64 million", pngOf(20_000, 20_000)},
		{"beyond any size", "", pngOf(1<<31-1, 1<<31-1)},
		{"no pixels", "", pngOf(0, 5)},
		{"cut PNG", "", files["png rgb"][:60]},
		{"cut JPEG", "cut off", files["jpeg"][:200]},
		{"cut GIF", "", files["gif"][:40]},
		{"cut TIFF", "", files["tiff lzw"][:30]},
		{"cut BMP", "", files["bmp"][:60]},
		{"cut WebP", "", files["webp lossless"][:20]},
		{"JPEG of one byte more than its mark", "", []byte("\xff\xd8\xff")},
		{"animated WebP", "animated WebP", riff("ANIM", make([]byte, 6))},
		{"WebP with a larger frame", "16384×16384 pixels", riff("VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f})},
		{"lossy WebP with a larger frame", "16383×16383 pixels", riff("VP8 ", []byte{0, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0xff, 0x3f})},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(c.file)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want one that says %q", c.name, err, c.says)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
			t.Errorf("%s: took %d KiB to refuse", c.name, took>>10)
		}
	}
}

// A header that lies about its pixels costs what the header says at most, and damage anywhere in
// a file is an error or an image, no panic.
func FuzzDecode(f *testing.F) {
	for _, c := range read(f).Files {
		f.Add(c.File)
	}
	f.Add(pngOf(40, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		if f, ok := formatOf(b); ok {
			if c, err := f.config(bytes.NewReader(b)); err == nil && c.Width*c.Height > 1<<22 {
				return // costs time alone
			}
		}
		m, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrImage) {
				t.Fatal(err)
			}
			return
		}
		if m.W < 1 || m.H < 1 || len(m.Pix) != 3*m.W*m.H {
			t.Fatalf("%d×%d of %d bytes", m.W, m.H, len(m.Pix))
		}
	})
}

func FuzzOrientation(f *testing.F) {
	for _, c := range read(f).Files {
		f.Add(c.File)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if kind, ok := formatOf(b); ok {
			if o := orientation(kind.name, b); o < 1 || o > 8 {
				t.Errorf("orientation %d", o)
			}
		}
	})
}

// Each turn is undone by the one that leads back.
func TestTurned(t *testing.T) {
	m := &Image{3, 2, []uint8{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5}}
	for o := 1; o <= 8; o++ {
		back := o
		if o == 6 || o == 8 {
			back = 14 - o
		}
		if got := m.turned(o).turned(back); got.W != m.W || !slices.Equal(got.Pix, m.Pix) {
			t.Errorf("orientation %d and %d give %v", o, back, got)
		}
	}
	if f := m.Flip(); f.Pix[0] != 2 || f.Pix[8] != 0 || f.Pix[9] != 5 {
		t.Errorf("flipped %v", f.Pix)
	}
}

func TestCrop(t *testing.T) {
	m := &Image{2, 2, []uint8{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}}
	if got := m.Crop(1, -1, 2, 2); !slices.Equal(got.Pix, []uint8{0, 0, 0, 0, 0, 0, 2, 2, 2, 0, 0, 0}) {
		t.Errorf("%v", got.Pix)
	}
	if got := m.Crop(5, 5, 1, 1); !slices.Equal(got.Pix, []uint8{0, 0, 0}) {
		t.Errorf("outside: %v", got.Pix)
	}
}

func TestResize(t *testing.T) {
	for _, c := range read(t).Resizes {
		m := c.From.image().Resize(c.To.W, c.To.H, c.Filter)
		if m.W != c.To.W || m.H != c.To.H || !slices.Equal(m.Pix, c.To.Pix) {
			t.Errorf("filter %d, %d×%d to %d×%d: other pixels than the reference's", c.Filter, c.From.W, c.From.H, c.To.W, c.To.H)
		}
	}
}

func TestProcess(t *testing.T) {
	for i, c := range read(t).Processes {
		p, err := ParseProcessor(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		if h, w := p.Size(); h != c.Shape[1] || w != c.Shape[2] {
			t.Errorf("case %d: size %d×%d, want %v", i, h, w, c.Shape)
		}
		got, err := p.Process(nil, c.From.image())
		if err != nil || 4*len(got) != len(c.Values) {
			t.Fatalf("case %d: %d values, %v", i, len(got), err)
		}
		for j, x := range got {
			if want := math.Float32frombits(binary.LittleEndian.Uint32(c.Values[4*j:])); math.Abs(float64(x-want)) > 1e-6 {
				t.Fatalf("case %d: value %d is %v, want %v", i, j, x, want)
			}
		}
	}
}

// What a file leaves out is what transformers assumes of its processor.
func TestProcessorDefaults(t *testing.T) {
	for file, want := range map[string]string{
		`{"image_processor_type": "ViTImageProcessor"}`:                                 `{"image_processor_type": "ViTImageProcessorFast", "size": {"height": 224, "width": 224}, "resample": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 0.00392156862745098}`,
		`{"feature_extractor_type": "CLIPFeatureExtractor", "size": 224}`:               `{"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}, "do_center_crop": true, "resample": 3}`,
		`{"image_processor_type": "BeitImageProcessor", "do_center_crop": false}`:       `{"image_processor_type": "BEiTImageProcessor", "size": 256, "do_center_crop": false, "resample": 3}`,
		`{"image_processor_type": "DeiTImageProcessor", "do_normalize": false}`:         `{"image_processor_type": "DeiTImageProcessor", "image_mean": [0, 0, 0], "image_std": [1, 1, 1]}`,
		`{"image_processor_type": "BitImageProcessor", "do_rescale": false}`:            `{"image_processor_type": "BitImageProcessor", "rescale_factor": 1}`,
		`{"image_processor_type": "SiglipImageProcessor", "size": 224, "x": "y"}`:       `{"image_processor_type": "SiglipImageProcessor"}`,
		`{"image_processor_type": "CLIPImageProcessor", "size": null, "do_pad": false}`: `{"image_processor_type": "CLIPImageProcessor"}`,
	} {
		a, err1 := ParseProcessor([]byte(file))
		b, err2 := ParseProcessor([]byte(want))
		if err := errors.Join(err1, err2); err != nil {
			t.Error(err)
		} else if a.Digest() != b.Digest() {
			t.Errorf("%s is %+v, and %s is %+v", file, a.c, want, b.c)
		}
	}
}

func TestProcessorRefuses(t *testing.T) {
	for file, says := range map[string]string{
		``:   "unexpected end",
		`{}`: "names no image_processor_type",
		`{"image_processor_type": "ConvNextImageProcessor"}`:                                                    "known are those of ViT",
		`{"image_processor_type": "ViTImageProcessor", "resample": 6}`:                                          "resample is 6",
		`{"image_processor_type": "ViTImageProcessor", "size": {"shortest_edge": 9}}`:                           "keep their shapes",
		`{"image_processor_type": "ViTImageProcessor", "do_resize": false}`:                                     "keep their shapes",
		`{"image_processor_type": "ViTImageProcessor", "size": {"height": 9}}`:                                  "not known",
		`{"image_processor_type": "ViTImageProcessor", "size": -1}`:                                             "want 1 to",
		`{"image_processor_type": "ViTImageProcessor", "size": 100000}`:                                         "want 1 to",
		`{"image_processor_type": "ViTImageProcessor", "size": "9"}`:                                            "size",
		`{"image_processor_type": "ViTImageProcessor", "image_std": [0, 1, 1]}`:                                 "image_std",
		`{"image_processor_type": "ViTImageProcessor", "image_mean": [0]}`:                                      "image_mean",
		`{"image_processor_type": "ViTImageProcessor", "rescale_factor": 0}`:                                    "rescale_factor",
		`{"image_processor_type": "ViTImageProcessor", "do_pad": true}`:                                         "do_pad",
		`{"image_processor_type": "CLIPImageProcessor", "crop_size": {"shortest_edge": 9}}`:                     "crop_size",
		`{"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 9, "longest_edge": 5}}`:       "not known",
		`{"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 9, "height": 5, "width": 5}}`: "not known",
	} {
		if _, err := ParseProcessor([]byte(file)); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want one that says %q", file, err, says)
		}
	}
	if _, err := LoadProcessor(t.TempDir() + "/" + ConfigFile); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// One that is far longer than wide would need memory without bound.
func TestProcessLong(t *testing.T) {
	p, err := ParseProcessor([]byte(`{"image_processor_type": "CLIPImageProcessor"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Process(nil, New(MaxSide, 1)); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	if v, err := p.Process(nil, New(1, 1)); err != nil || len(v) != 3*224*224 {
		t.Errorf("of one pixel: %d values, %v", len(v), err)
	}
}

func TestMedia(t *testing.T) {
	for _, c := range read(t).Files {
		kind, _, _ := strings.Cut(c.Name, " ")
		if got := Media(c.File); got != "image/"+kind {
			t.Errorf("%s is %q", c.Name, got)
		}
	}
	if got := Media([]byte("%PDF-1.4")); got != "" {
		t.Errorf("a PDF is %q", got)
	}
}

// Decoders of others: what they take must be images that were written by their encoders too.
func TestDecodeCompressed(t *testing.T) {
	src := image.NewRGBA(image.Rect(0, 0, 5, 4))
	for i := range src.Pix {
		src.Pix[i] = 255
	}
	src.Set(2, 3, color.RGBA{9, 8, 7, 255})
	var b bytes.Buffer
	if err := tiff.Encode(&b, src, &tiff.Options{Compression: tiff.Deflate, Predictor: true}); err != nil {
		t.Fatal(err)
	}
	m, err := Decode(b.Bytes())
	if err != nil || !slices.Equal(m.Pix[3*17:3*18], []uint8{9, 8, 7}) {
		t.Errorf("%v, %v", m, err)
	}
}

func BenchmarkResize(b *testing.B) {
	m := New(1024, 768)
	b.SetBytes(int64(len(m.Pix)))
	for b.Loop() {
		m.Resize(224, 224, Bicubic)
	}
}

func TestView(t *testing.T) {
	m := New(40, 20)
	for i := range m.Pix {
		m.Pix[i] = uint8(i * 7)
	}
	for _, v := range []View{{}, {Flip: true}, {X: 500, W: 500, H: 1000}, {Hide: 1 << 63}, {X: 999, Y: 999, W: 1, H: 1, Hide: 3, Flip: true}} {
		back, err := ParseView(v.String())
		if err != nil || back != v {
			t.Errorf("%q is read as %+v, %v", v, back, err)
		}
		got := v.Apply(m)
		if got.W < 1 || got.H < 1 || len(got.Pix) != 3*got.W*got.H {
			t.Errorf("%q: %d×%d", v, got.W, got.H)
		}
		if one := v.Apply(New(1, 1)); one.W != 1 || one.H != 1 {
			t.Errorf("%q of one pixel: %d×%d", v, one.W, one.H)
		}
	}
	half := View{X: 500, W: 500, H: 1000}.Apply(m)
	if half.W != 20 || half.H != 20 || half.Pix[0] != m.Pix[60] {
		t.Errorf("the right half is %d×%d and begins with %d", half.W, half.H, half.Pix[0])
	}
	hidden := View{Hide: 1<<63 | 1}.Apply(m)
	same := 0
	for i := range m.Pix {
		if hidden.Pix[i] == m.Pix[i] {
			same++
		}
	}
	if hidden.Pix[0] == m.Pix[0] || hidden.Pix[len(m.Pix)-1] == m.Pix[len(m.Pix)-1] || same < len(m.Pix)*30/32 || m.Pix[1] != 7 {
		t.Errorf("two cells of 64 are left out, and %d of %d values are the same", same, len(m.Pix))
	}
	for _, s := range []string{"crop=1", "crop=1,2,3", "crop=0,0,1001,5", "crop=600,0,500,5", "crop=-1,0,5,5", "crop=0,0,0,5", "crop=0,0,5,0", "hide=", "hide=xyz", "turn", "hide=fffffffffffffffff"} {
		if _, err := ParseView(s); !errors.Is(err, ErrImage) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestEncode(t *testing.T) {
	m := Probe(2)
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(b)
	if err != nil || back.W != m.W || back.H != m.H || !slices.Equal(back.Pix, m.Pix) {
		t.Errorf("other pixels than were written: %v", err)
	}
}

func TestWeigh(t *testing.T) {
	m := New(4, 4)
	for i := range m.Pix {
		m.Pix[i] = 200
	}
	got := m.Weigh(2, 2, []float64{4, 0, 2})
	for at, want := range map[int]uint8{0: 200, 3 * 2: 50, 3 * 8: 125, 3 * 15: 50} {
		if got.Pix[at] != want {
			t.Errorf("value %d is %d, want %d", at, got.Pix[at], want)
		}
	}
	if b := Beside(8, m, New(3, 6)).Bounds(); b.Dx() != 8+8+4 || b.Dy() != 8 {
		t.Errorf("side by side %v", b)
	}
}
