package picture

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// ConfigFile is the name of the file in a model's folder that describes the preprocessing of images.
const ConfigFile = "preprocessor_config.json"

// ErrConfig is wrapped by errors about an image preprocessing that is damaged or unknown.
var ErrConfig = errors.New("unusable image preprocessing")

// Maximum side of a model's input, in pixels.
const maxInput = 4096

// Processor turns an image into the pixel values that a model takes. It is immutable and safe for
// concurrent use.
type Processor struct {
	c config
}

// config is a preprocessor_config.json with defaults filled in.
type config struct {
	Resize    bool
	Shortest  int // side that the shorter one gets; 0 where Height and Width are the size
	Longest   int // most that the longer one gets then; 0 for no bound
	Height    int
	Width     int
	Filter    Filter
	Crop      bool
	CropH     int
	CropW     int
	Factor    float64 // 1 for none
	Mean, Std [3]float32
}

// kind holds the defaults of a processor, for settings that its file does not have.
type kind struct {
	shortest  bool // a size that is one number is the shorter side, else both
	size      int
	crop      int // 0 for none
	filter    Filter
	mean, std [3]float64
}

var (
	half     = [3]float64{0.5, 0.5, 0.5}
	natural  = [3]float64{0.485, 0.456, 0.406}
	spread   = [3]float64{0.229, 0.224, 0.225}
	clipMean = [3]float64{0.48145466, 0.4578275, 0.40821073}
	clipStd  = [3]float64{0.26862954, 0.26130258, 0.27577711}
)

// kinds are the supported processors, by their names in transformers without the suffixes
// ImageProcessor, ImageProcessorFast and FeatureExtractor.
var kinds = map[string]kind{
	"ViT":    {false, 224, 0, Bilinear, half, half},
	"Deit":   {false, 256, 224, Bicubic, natural, spread},
	"Beit":   {false, 256, 224, Bicubic, half, half},
	"CLIP":   {true, 224, 224, Bicubic, clipMean, clipStd},
	"Bit":    {true, 224, 224, Bicubic, clipMean, clipStd},
	"Siglip": {false, 224, 0, Bicubic, half, half},
}

// sameKind maps spellings of names in transformers that differ only in case.
var sameKind = map[string]string{"DeiT": "Deit", "BEiT": "Beit", "SigLIP": "Siglip"}

// LoadProcessor reads a preprocessor_config.json. It knows the processors of ViT, DeiT, BEiT, CLIP,
// BiT (which DINOv2 uses) and SigLIP. Errors: ErrConfig, and those of the file system.
func LoadProcessor(path string) (*Processor, error) {
	b, err := regular.ReadFile(path, 1<<20)
	if err != nil {
		return nil, err
	}
	p, err := ParseProcessor(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// ParseProcessor is LoadProcessor for the bytes of a file.
func ParseProcessor(b []byte) (*Processor, error) {
	c, err := parseConfig(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &Processor{c}, nil
}

func parseConfig(b []byte) (c config, err error) {
	var f struct {
		DoResize    *bool           `json:"do_resize"`
		Size        json.RawMessage `json:"size"`
		Resample    *Filter         `json:"resample"`
		DoCrop      *bool           `json:"do_center_crop"`
		CropSize    json.RawMessage `json:"crop_size"`
		DoRescale   *bool           `json:"do_rescale"`
		Factor      *float64        `json:"rescale_factor"`
		DoNormalize *bool           `json:"do_normalize"`
		Mean        []float64       `json:"image_mean"`
		Std         []float64       `json:"image_std"`
		DoPad       bool            `json:"do_pad"`
		Reorder     bool            `json:"do_flip_channel_order"`
		Image       string          `json:"image_processor_type"`
		Feature     string          `json:"feature_extractor_type"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return c, fmt.Errorf("not as expected: %w", err)
	}
	full := f.Image
	full = cmp.Or(full, f.Feature)
	name := full
	for _, end := range []string{"Fast", "ImageProcessor", "FeatureExtractor"} {
		name = strings.TrimSuffix(name, end)
	}
	if other, ok := sameKind[name]; ok {
		name = other
	}
	k, ok := kinds[name]
	switch {
	case !ok && full == "":
		return c, errors.New("it names no image_processor_type; add that of the model, such as ViTImageProcessor")
	case !ok:
		return c, fmt.Errorf("an image processor of type %.80q is not known; known are those of ViT, DeiT, BEiT, CLIP, BiT and SigLIP", full)
	case f.DoPad || f.Reorder:
		return c, errors.New("do_pad and do_flip_channel_order are not known")
	}
	set := func(p *bool, otherwise bool) bool {
		if p == nil {
			return otherwise
		}
		return *p
	}
	c = config{Resize: set(f.DoResize, true), Filter: k.filter, Crop: set(f.DoCrop, k.crop > 0), Factor: 1}
	if f.Resample != nil {
		c.Filter = *f.Resample
	}
	if err := c.Filter.check(); err != nil {
		return c, err
	}
	size, err := sizeOf("size", f.Size, k.size, k.shortest)
	if err != nil {
		return c, err
	}
	c.Shortest, c.Longest, c.Height, c.Width = size.Shortest, size.Longest, size.Height, size.Width
	crop, err := sizeOf("crop_size", f.CropSize, max(k.crop, k.size), false)
	if err != nil {
		return c, err
	}
	if c.CropH, c.CropW = crop.Height, crop.Width; c.Crop && c.CropH == 0 {
		return c, errors.New("crop_size has a shortest_edge; give height and width")
	}
	if set(f.DoRescale, true) {
		if c.Factor = 1. / 255; f.Factor != nil {
			c.Factor = *f.Factor
		}
	}
	c.Std = [3]float32{1, 1, 1}
	if set(f.DoNormalize, true) {
		if c.Mean, err = channels("image_mean", f.Mean, k.mean, -1e6); err != nil {
			return c, err
		}
		if c.Std, err = channels("image_std", f.Std, k.std, 1e-6); err != nil {
			return c, err
		}
	}
	switch {
	case !(math.Abs(c.Factor) > 0 && math.Abs(c.Factor) <= 1e6):
		return c, fmt.Errorf("rescale_factor is %v; want a number other than 0", c.Factor)
	case !c.Crop && (!c.Resize || c.Shortest > 0):
		return c, errors.New("images keep their shapes, and a model takes one alone; give do_center_crop, or a size with height and width")
	}
	return c, nil
}

// size is a number, or an object of one of several shapes.
type size struct {
	Shortest int `json:"shortest_edge"`
	Longest  int `json:"longest_edge"`
	Height   int `json:"height"`
	Width    int `json:"width"`
}

func sizeOf(name string, raw json.RawMessage, otherwise int, shortest bool) (s size, err error) {
	one := otherwise
	if len(raw) > 0 && string(raw) != "null" {
		if json.Unmarshal(raw, &one) != nil {
			one = 0
			if err := json.Unmarshal(raw, &s); err != nil {
				return s, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	switch {
	case one != 0 && shortest:
		s.Shortest = one
	case one != 0:
		s.Height, s.Width = one, one
	}
	for _, n := range []int{s.Shortest, s.Longest, s.Height, s.Width} {
		if n < 0 || n > maxInput {
			return s, fmt.Errorf("%s is %d pixels; want 1 to %d", name, n, maxInput)
		}
	}
	if (s.Shortest > 0) == (s.Height > 0 && s.Width > 0) || s.Longest > 0 && s.Longest < s.Shortest {
		return s, fmt.Errorf("%s %.80s is not known; give height and width, or shortest_edge", name, raw)
	}
	return s, nil
}

func channels(name string, given []float64, otherwise [3]float64, above float64) (out [3]float32, err error) {
	if given == nil {
		given = otherwise[:]
	}
	if len(given) != 3 || slices.ContainsFunc(given, func(x float64) bool { return !(x > above && x <= 1e6) }) {
		return out, fmt.Errorf("%s is %v; want three numbers, those of image_std above 0", name, given)
	}
	for i, x := range given {
		out[i] = float32(x)
	}
	return out, nil
}

// Size returns the height and width, in pixels, of the result of Process.
func (p *Processor) Size() (h, w int) {
	if p.c.Crop {
		return p.c.CropH, p.c.CropW
	}
	return p.c.Height, p.c.Width
}

// Digest returns 16 hexadecimal digits that identify the processing. Processors with the same digest
// make the same values.
func (p *Processor) Digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", p.c))
	return hex.EncodeToString(sum[:8])
}

// View returns the part of an image that the model sees, resized and cropped to the size in which it
// sees it. If the crop is larger than the image, the border is black. An image too long to keep its
// shape is ErrImage.
func (p *Processor) View(m *Image) (*Image, error) {
	c := p.c
	if c.Resize {
		w, h := c.Width, c.Height
		if c.Shortest > 0 {
			short, long := c.Shortest, c.Shortest*max(m.W, m.H)/min(m.W, m.H)
			if c.Longest > 0 && long > c.Longest {
				short, long = c.Longest*min(m.W, m.H)/max(m.W, m.H), c.Longest
			}
			if short < 1 || long > 16*maxInput {
				return nil, wrong("an image of %d×%d pixels is too long for a model that keeps its shape; cut it", m.W, m.H)
			}
			w, h = short, long
			if m.W > m.H {
				w, h = long, short
			}
		}
		m = m.Resize(w, h, c.Filter)
	}
	if c.Crop {
		m = m.Crop(middle(m.W, c.CropW), middle(m.H, c.CropH), c.CropW, c.CropH)
	}
	return m, nil
}

// middle is the offset of a centred part of length want in have. It is negative if the part is
// longer; the larger half of the border then comes first.
func middle(have, want int) int {
	if want > have {
		return -((want - have + 1) / 2)
	}
	return (have - want) / 2
}

// Process appends the values [3 × height × width] of an image to dst, all of red first: (pixel·factor
// − mean)/std of the result of View. Values differ from those of the reference only by rounding.
func (p *Processor) Process(dst []float32, m *Image) ([]float32, error) {
	v, err := p.View(m)
	if err != nil {
		return dst, err
	}
	for c := range 3 {
		var of [256]float32
		for x := range of {
			of[x] = (float32(float64(x)*p.c.Factor) - p.c.Mean[c]) / p.c.Std[c]
		}
		for i := c; i < len(v.Pix); i += 3 {
			dst = append(dst, of[v.Pix[i]])
		}
	}
	return dst, nil
}
