package command

import (
	"context"
	"io"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
)

var cmdBenchImage = command{
	name:    "bench image",
	summary: "image → images of its class, and parts → their image",
	about: `
Asks with each image for the others of its class (task class, nDCG@1 first), and with a part of each
image for the image (part:N, N percent of its area; patches:N, N percent of 64 cells where they are). DIR holds labels.tsv or labels.csv (file, class, and
query or corpus where they are split), CUB-200-2011 as it is distributed, or a folder for each class;
--withhold lets a share of each class ask alone, --labels lets fits know the classes of the others. --model names the folder of a vision transformer (model.onnx,
config.json, preprocessor_config.json); with --vectors another encoder's vectors are taken, a row for each image.`,
	examples: []string{
		"lexsem bench image --model ./dinov2-base --data CUB_200_2011 --systems dense,rlr,slr,rlr+slr,hybrid",
		"lexsem bench image --model ./vit --data photos --withhold 0.25 --tasks class,part:25",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		p := declareProtocol(f, "dense")
		vectors := f.str("vectors", "", "`FILE`vectors of the images, .fbin")
		tasks := f.str("tasks", "class", "`LIST`tasks: class, part:N, patches:N")
		words := f.int("words", 0, "visual words of the codebook; 0 means 1,024")
		labels := f.bool("labels", "let fits know the classes of the corpus")
		withhold := f.float("withhold", 0, "share of each class that asks, and is not asked for")
		return func(ctx context.Context, a *app, args []string) error {
			dirs, err := p.folders(args)
			if err != nil {
				return err
			}
			if len(dirs) > 1 {
				return usagef("bench image takes one folder, --data names %d", len(dirs))
			}
			var enc encoder.Encoder
			if a.model != "" && *vectors == "" {
				if enc, err = a.openEncoder(ctx, a.model); err != nil {
					return err
				}
				defer enc.Close()
			}
			meter := a.progress()
			defer meter.done()
			rep, err := bench.RunImages(ctx, enc, bench.ImageOptions{
				Data: dirs[0], Vectors: *vectors, Tasks: list(*tasks), Words: *words, Withhold: *withhold, Labels: *labels,
				Systems: list(*p.systems), Version: versions().Version, Setting: p.setting(meter.bench),
			})
			meter.done()
			if err != nil {
				return benchError(err)
			}
			return writeReport(a, *p.json, rep.WriteJSON, func(w io.Writer) error { return rep.WriteTable(w, bench.ImageMetrics) })
		}
	},
}
