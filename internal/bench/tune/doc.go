// Package tune chooses constants of a system on several corpora and says whether the choice holds on other
// queries. Start with Run. "lexsem bench tune" is its command.
package tune
