package store

import (
	"context"
	"fmt"
)

// vocabulary reads the terms that a part adds to those of earlier parts. They stay in
// memory meanwhile, to refuse a repeated term, which would shift all later numbers by one.
func (x *restorer) vocabulary(ctx context.Context) error {
	if x.terms == nil {
		x.terms = map[string]struct{}{}
	}
	for x.kind == frameTerms {
		first := uint64(len(x.terms))
		var terms []string
		if err := decodeTerms(x.payload, func(t string) error {
			if _, twice := x.terms[t]; twice {
				return fmt.Errorf("%w: %.80q is there twice", errTerms, t)
			}
			x.terms[t] = struct{}{}
			terms = append(terms, t)
			return nil
		}); err != nil {
			return x.refuse("its vocabulary", err)
		}
		if uint64(len(x.terms)) > x.to.Terms {
			return x.refuse(fmt.Sprintf("its vocabulary has more than the %d terms that its header tells", x.to.Terms), nil)
		}
		if err := x.w.terms(first, terms); err != nil {
			return err
		}
		if err := x.next(ctx); err != nil {
			return err
		}
	}
	if n := uint64(len(x.terms)); n < x.to.Terms {
		return x.refuse(fmt.Sprintf("its vocabulary has %d of %d terms", n, x.to.Terms), nil)
	}
	return nil
}
