package main

import "context"

func localSpeed04(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, nil, "./engine/internal/search", "LocalQuery", "-benchtime", "500x", "-count", "5")
	values := map[string]float64{}
	if all, plain := got["LocalQuery/all ns/op"], got["LocalQuery/plain ns/op"]; all > 0 && plain > 0 {
		values["04.local.scan"] = all / plain
	}
	if v, ok := got["LocalQuery/all tables/float32"]; ok {
		values["04.local.bytes"] = v
	}
	return values, err
}

func speed04(ctx context.Context, _ *workshop) (map[string]float64, error) {
	fit, err := goBench(ctx, nil, "./modulate", "SumsOf", "-benchtime", "1x")
	if err != nil {
		return nil, err
	}
	query, err := goBench(ctx, nil, "./modulate", "Modulate/(rlr|rlr.slr)$", "-benchmem")
	values := map[string]float64{}
	set := func(id string, from map[string]float64, name string, unit float64) {
		if v, ok := from[name]; ok {
			values["04."+id] = max(values["04."+id], v/unit)
		}
	}
	set("rlr.fit5k", fit, "SumsOf/5000 ns/op", 1e9)
	set("rlr.fit100k", fit, "SumsOf/100000 ns/op", 1e9)
	set("rlr.query", query, "Modulate/rlr ns/op", 1e3)
	set("rlr+slr.query", query, "Modulate/rlr+slr ns/op", 1e3)
	set("rlr.allocs", query, "Modulate/rlr allocs/op", 1)
	set("rlr.allocs", query, "Modulate/rlr+slr allocs/op", 1)
	return values, err
}
