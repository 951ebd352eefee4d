package regular

// noWait is not needed: Windows has no pipes among the files.
const noWait = 0
