package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/constants"
)

// Trial is a constant with the values to try.
type Trial struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// ParseTrial reads "presence=0.2,0.3,0.4". A bare name, such as "presence", means the values of
// Constant.Try. Errors: ErrUnknownName, ErrOption, ErrDuplicateID.
func ParseTrial(s string) (Trial, error) {
	name, values, listed := strings.Cut(s, "=")
	c, err := named(strings.TrimSpace(name))
	if err != nil {
		return Trial{}, err
	}
	t := Trial{Name: c.Name, Values: slices.Clone(c.Try)}
	if !listed {
		return t, nil
	}
	t.Values = nil
	for _, part := range strings.Split(values, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return t, fmt.Errorf("%w: %q of %s is not a number; write %s=%v,%v", bench.ErrOption, part, c.Name, c.Name, c.Try[0], c.Try[1])
		}
		t.Values = append(t.Values, v)
	}
	return t, t.check()
}

func (t Trial) check() error {
	c, err := named(t.Name)
	if err != nil {
		return err
	}
	if len(t.Values) == 0 {
		return fmt.Errorf("%w: no value of %s to try; write %s=%v,%v", bench.ErrOption, c.Name, c.Name, c.Try[0], c.Try[1])
	}
	for i, v := range t.Values {
		if !(v >= c.Low && v <= c.High) {
			return fmt.Errorf("%w: %s %v; use numbers from %v to %v", bench.ErrOption, c.Name, v, c.Low, c.High)
		}
		if slices.Contains(t.Values[:i], v) {
			return fmt.Errorf("%w: %s %v is given twice; name it once", bench.ErrDuplicateID, c.Name, v)
		}
	}
	return nil
}

// named returns the constant called name. The error is bench.ErrUnknownName.
func named(name string) (constants.Constant, error) {
	c, ok := constants.Named(name)
	if !ok {
		return c, fmt.Errorf("%w: constant %q; known are %s", bench.ErrUnknownName, name, strings.Join(constants.Names(), ", "))
	}
	return c, nil
}
