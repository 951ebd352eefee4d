package cli

import (
	"context"
	"io"

	"github.com/lexsem/lexsem/bench"
)

var cmdBenchImage = command{
	name:    "bench image",
	summary: "image → images of its class, with the vectors of a vision encoder",
	about: `
Reads labels.tsv (image, class, and query or corpus where they are split) and asks with each image for
the others of its class; nDCG@1 first. This build runs no vision encoder: give the vectors of one with
--vectors, a row for each line. In Go, bench.RunImages takes any encoder of image files.`,
	examples: []string{
		"lexsem bench image --data cub200 --vectors beit.fbin",
		"lexsem bench image --data cars --vectors dino.fbin --json cars.json",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		p := declareProtocol(f, "dense")
		vectors := f.str("vectors", "", "`FILE`vectors of the images, .fbin")
		return func(ctx context.Context, a *app, args []string) error {
			dirs, err := p.folders(args)
			if err != nil {
				return err
			}
			if len(dirs) > 1 {
				return usagef("bench image takes one folder, --data names %d", len(dirs))
			}
			meter := a.progress()
			defer meter.done()
			rep, err := bench.RunImages(ctx, nil, bench.ImageOptions{
				Data: dirs[0], Vectors: *vectors, Systems: list(*p.systems), Version: versions().Version,
				Setting: p.setting(meter.bench),
			})
			meter.done()
			if err != nil {
				return benchError(err)
			}
			return writeReport(a, *p.json, rep.WriteJSON, func(w io.Writer) error { return rep.WriteTable(w, bench.ImageMetrics) })
		}
	},
}
