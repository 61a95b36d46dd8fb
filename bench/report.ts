/** One line of the table: a measured value beside its limit. */
export interface Row {
  path: string
  limit: string
  measured: string
  /** `null`: there is no limit; the value is only for information. */
  ok: boolean | null
}

export function atMost(path: string, limit: number, measured: number, unit: string): Row {
  return { path, limit: `≤ ${figure(limit)} ${unit}`, measured: `${figure(measured)} ${unit}`, ok: measured <= limit }
}

export function atLeast(path: string, limit: number, measured: number, unit: string): Row {
  return { path, limit: `≥ ${figure(limit)} ${unit}`, measured: `${figure(measured)} ${unit}`, ok: measured >= limit }
}

export function exactly(path: string, expected: number, measured: number, unit: string): Row {
  return {
    path,
    limit: `= ${figure(expected)} ${unit}`,
    measured: `${figure(measured)} ${unit}`,
    ok: measured === expected,
  }
}

export function figureOnly(path: string, measured: number, unit: string): Row {
  return { path, limit: '', measured: `${figure(measured)} ${unit}`, ok: null }
}

/** Three digits are enough to compare; large numbers have no decimals. */
function figure(value: number): string {
  if (!Number.isFinite(value)) return 'none'
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}

export function table(rows: readonly Row[]): string {
  const cells = [
    ['path', 'limit', 'measured', ''],
    ...rows.map(({ path, limit, measured, ok }) => [path, limit, measured, ok === null ? '' : ok ? 'ok' : 'OVER']),
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 || column === 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('   ')
      .trimEnd()
  const [head = [], ...body] = cells
  return [line(head), '─'.repeat(widths.reduce((sum, width) => sum + width + 3, -3)), ...body.map(line)].join('\n')
}
