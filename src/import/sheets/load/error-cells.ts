/** The additional columns of an errors file: the original row, the wrong columns, and the reason. */
export const errorHeadings = { row: '_row', columns: '_columns', reason: '_reason' } as const

/** Cells that a spreadsheet program would read as a formula. */
const formula = /^'*[=+\-@\t\r]/

/** The cell with an apostrophe in front, if a spreadsheet program would evaluate it. */
export function defused(cell: string): string {
  return formula.test(cell) ? `'${cell}` : cell
}

/** The original cell of an errors file. */
export function fused(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}
