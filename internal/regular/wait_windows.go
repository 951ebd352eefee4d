package regular

// noWait is not needed: Windows has no pipes among the files. There is no noFollow.
const noWait, noFollow = 0, 0
