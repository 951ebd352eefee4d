package httpapi

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lexsem/lexsem/engine"
)

// collectionsCollector counts the documents of the collections that are open at the
// moment. Opening the others would need memory and the lock of each.
type collectionsCollector struct{ of Collections }

var (
	collectionUpDesc   = gauge("lexsem_collection_up", "1 if an open collection answers.", "collection")
	collectionDocsDesc = gauge("lexsem_collection_documents", "Documents of an open collection.", "collection")
)

// Describe implements prometheus.Collector.
func (c collectionsCollector) Describe(to chan<- *prometheus.Desc) {
	to <- collectionUpDesc
	to <- collectionDocsDesc
}

// Collect implements prometheus.Collector.
func (c collectionsCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTime)
	defer cancel()
	for name, db := range c.of.Opened() {
		n, err := db.Count(ctx, engine.Filter{})
		if errors.Is(err, engine.ErrClosed) { // meanwhile
			continue
		}
		if err != nil {
			to <- prometheus.MustNewConstMetric(collectionUpDesc, prometheus.GaugeValue, 0, name)
			continue
		}
		to <- prometheus.MustNewConstMetric(collectionUpDesc, prometheus.GaugeValue, 1, name)
		to <- prometheus.MustNewConstMetric(collectionDocsDesc, prometheus.GaugeValue, float64(n), name)
	}
}
