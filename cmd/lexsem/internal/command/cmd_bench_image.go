package command

import (
	"context"
	"io"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/image"
)

var cmdBenchImage = command{
	name:    "bench image",
	summary: "measure image search: images of a class, images by parts",
	about: `
Task class: search with each image for the other images of its class (nDCG@1 first). Tasks part:N
and patches:N: search with a part of each image for the image itself; part:N is N percent of its
area, patches:N is N percent of 64 cells, in their places.

DIR holds labels.tsv or labels.csv (file, class and, if the images are split, query or corpus), the
data set CUB-200-2011 as it is distributed, or one folder per class. --withhold makes a share of
each class queries only. --labels lets fits know the classes of the others. --model names the
folder of a vision transformer (model.onnx, config.json, preprocessor_config.json). --vectors takes
the vectors of another encoder instead, one row per image.`,
	examples: []string{
		"lexsem bench image --model ./dinov2-base --data CUB_200_2011 --systems dense,rlr,slr,rlr+slr,hybrid",
		"lexsem bench image --model ./vit --data photos --withhold 0.25 --tasks class,part:25",
	},
	declare: func(f *flags) action {
		p := declareProtocol(f, "dense")
		vectors := f.str("vectors", "", "`FILE`vectors of the images, .fbin")
		tasks := f.str("tasks", "class", "`LIST`tasks: class, part:N, patches:N")
		words := f.int("words", 0, "visual words of the codebook; default 1,024")
		labels := f.bool("labels", "let fits know the classes of the corpus")
		withhold := f.float("withhold", 0, "`SHARE`share of each class that is used as queries only")
		return func(ctx context.Context, a *app, _ []string) error {
			dirs, err := p.folders()
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
			rep, err := image.Run(ctx, enc, image.Options{
				Data: dirs[0], Vectors: *vectors, Tasks: list(*tasks), Words: *words, Withhold: *withhold, Labels: *labels,
				Systems: list(*p.systems), Version: versions().Version, Setting: p.setting(meter.bench),
			})
			meter.done()
			if err != nil {
				return benchError(err)
			}
			return writeReport(a, *p.json, rep.WriteJSON, func(w io.Writer) error { return rep.WriteTable(w, image.Metrics) })
		}
	},
}
