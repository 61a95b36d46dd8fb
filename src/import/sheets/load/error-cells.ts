/** The additional columns of an errors file: the original row, the wrong columns, and the reason. */
export const errorHeadings = { row: '_row', columns: '_columns', reason: '_reason' } as const

/** Cells that a spreadsheet program would take for a formula. */
const formula = /^'*[=+\-@\t\r]/

/** With an apostrophe in front where a spreadsheet program would work something out. */
export function defused(cell: string): string {
  return formula.test(cell) ? `'${cell}` : cell
}

/** A cell of an errors file as it was. */
export function fused(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}
