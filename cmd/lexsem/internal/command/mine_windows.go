package command

// mine does not ask Windows for owners: folders that others may write to are rare there above those of a user.
func mine(string) bool { return true }
