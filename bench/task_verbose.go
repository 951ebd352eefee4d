package bench

import (
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/internal/bench/random"
)

// Verbose rewrites the queries of another task as whole sentences of a request, as people write to a
// person. Most words of such a sentence are not about the subject of the query. The sentence depends
// on the seed and the query's id. Judgements and halves are those of the other task.
var _ = RegisterTask(TaskKind{
	Name:  "verbose",
	Usage: "verbose:TASK",
	Doc:   "the queries of another task, each within the sentences of a long request",
	Make: func(arg string, in TaskInput) (*Task, error) {
		if arg == "" || strings.HasPrefix(arg, "verbose") {
			return nil, fmt.Errorf("%w: verbose:%s names no other task; write verbose:query or verbose:keyword", ErrUnknownName, arg)
		}
		t, err := MakeTask(arg, in)
		if err != nil {
			return nil, err
		}
		for i := range t.Queries {
			q := &t.Queries[i]
			frame := requests[random.New(in.Seed, "verbose", q.ID).IntN(len(requests))]
			q.Text = frame[0] + strings.TrimSpace(q.Text) + frame[1]
		}
		return t, nil
	},
})

// requests are the texts before and after a query.
var requests = [][2]string{
	{"I am preparing an overview for my colleagues and would be grateful for anything that deals with the following: ", ""},
	{"Could you please help me to find some documents? What I would like to know more about is this: ", " Thank you very much in advance."},
	{"We have been asked to collect material on ", " and any text that treats this in some detail would be useful to us."},
	{"Which texts in this collection should I read first if I want to understand ", ", and not only get a short mention of it?"},
	{"My interest is mainly in ", ". Relevant texts discuss it directly; those that name it in passing are of less use."},
	{"Yesterday someone told me about ", " but I cannot remember where that was written, so please show me the right place."},
	{"For a report that is due next week I need reliable information concerning ", "."},
	{"There must be something here that answers what I have wondered about for a while, namely ", " or whatever comes close to it."},
}
