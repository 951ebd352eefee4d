package regular

// noWait is not needed: there are no pipes among the files.
const noWait = 0
