/** Most lines of a log that are kept, and characters of each. */
export const mostLines = 1000
export const longestLine = 2000

/** The lines of a program's log: a list, or one line. */
export function linesOf(log: unknown): string[] {
  const lines = Array.isArray(log) ? log.slice(0, mostLines) : log === undefined || log === null ? [] : [log]
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)) ?? '')
  return texts.map((line) => line.replaceAll('\0', '').slice(0, longestLine).toWellFormed())
}
