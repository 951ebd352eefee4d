package snapshot

import "context"

// Verify checks the whole section. It returns the error of ctx within some milliseconds.
func (s *Section) Verify(ctx context.Context) error {
	const step = 1 << 20
	for from := 0; from < len(s.data); from += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.Check(from, min(step, len(s.data)-from)); err != nil {
			return err
		}
	}
	return nil
}
