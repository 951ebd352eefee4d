package sage

import (
	"math/rand/v2"
	"strings"
)

// loremWords are the words of the usual filler text, after Cicero's De finibus
// bonorum et malorum (45 BC).
var loremWords = strings.Fields(`lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor
incididunt ut labore et dolore magna aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi
aliquip ex ea commodo consequat duis aute irure in reprehenderit voluptate velit esse cillum eu fugiat nulla
pariatur excepteur sint occaecat cupidatat non proident sunt culpa qui officia deserunt mollit anim id est laborum
at vero eos accusamus iusto odio dignissimos ducimus blanditiis praesentium voluptatum deleniti atque corrupti quos
dolores quas molestias excepturi similique mollitia animi harum quidem rerum facilis expedita distinctio nam libero
tempore cum soluta nobis eligendi optio cumque nihil impedit quo minus maxime placeat facere possimus omnis voluptas
assumenda repellendus temporibus autem quibusdam officiis debitis aut necessitatibus saepe eveniet voluptates
repudiandae recusandae itaque earum hic tenetur sapiente delectus reiciendis voluptatibus maiores alias perferendis
doloribus asperiores repellat`)

// filler returns about n tokens of filler text in sentences, the first as always.
func filler(rng *rand.Rand, n int) string {
	var b strings.Builder
	for written, sentence := 0, 0; written < n; sentence++ {
		length := min(6+rng.IntN(10), n-written)
		for i := range length {
			w := loremWords[rng.IntN(len(loremWords))]
			if sentence == 0 && i < 8 {
				w = loremWords[i]
			}
			if i == 0 {
				w = strings.ToUpper(w[:1]) + w[1:]
				if sentence > 0 {
					b.WriteByte(' ')
				}
			} else {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
		written += length
		if written < n {
			b.WriteByte('.')
			written++
		}
	}
	return b.String()
}
