package text

import "strings"

// Stop reports whether a lower-cased English word is a function word, which says nothing about the
// topic of its text.
func Stop(word string) bool { _, ok := stop[word]; return ok }

var stop = func() map[string]struct{} {
	m := map[string]struct{}{}
	for _, w := range strings.Fields(`
a about above after again against all also although am among an and any are
aren't around as at be became because been before being below between both but
by came can can't cannot could couldn't did didn't do does doesn't doing don't
down during each either else etc even ever every few for from further get gets
got had hadn't has hasn't have haven't having he her here hers herself him
himself his how however i if in into is isn't it it's its itself just least
less let like made make many may me might mine more most much must my myself
neither never no nor not now of off often on once one only onto or other others
our ours ourselves out over own per rather s same shall she should shouldn't
since so some such t than that that's the their theirs them themselves then
there these they they're this those though through thus to too toward towards
under until up upon us used very via was wasn't we we're well were weren't what
when where whether which while who whom whose why will with within without
won't would wouldn't yet you you're your yours yourself yourselves`) {
		m[w] = struct{}{}
	}
	return m
}()
