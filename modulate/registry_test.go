package modulate

import "testing"

func TestRegisterRefuses(t *testing.T) {
	weigh := func(Parts) (Weigher, error) { return presence{}, nil }
	shift := func(Parts) (Shifter, error) { return nil, nil }
	before := len(Variants())
	for name, v := range map[string]Variant{
		"no name":     {Weigh: weigh},
		"plus":        {Name: "a+b", Weigh: weigh},
		"space":       {Name: "a b", Weigh: weigh},
		"taken":       {Name: "slr", Weigh: weigh},
		"neither":     {Name: "a"},
		"both":        {Name: "a", Weigh: weigh, Shift: shift},
		"wrong kind":  {Name: "a", Kind: Additive, Weigh: weigh},
		"wrong shift": {Name: "a", Shift: shift},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered", name)
				}
			}()
			Register(v)
		}()
	}
	if len(Variants()) != before {
		t.Error("a refused variant is in the registry")
	}
}
