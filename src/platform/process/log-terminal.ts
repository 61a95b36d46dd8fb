import { styleText } from 'node:util'

type Line = Record<string, unknown> & { level: string; time: string; msg?: string }

/** Members of a line that have a fixed place in the text, or are of no use to a person at a terminal. */
const placed = new Set(['level', 'time', 'msg', 'err', 'method', 'path', 'status', 'ms', 'user', 'request_id'])

/**
 * A log line for a person at a terminal: one short line for a request; otherwise the message and its members. Programs get the JSON
 * lines.
 */
export function terminalLine(json: string): string {
  const line = JSON.parse(json) as Line
  const time = styleText('dim', line.time.slice(11, 19))
  const text = line.msg === 'request' ? requestText(line) : messageText(line)
  return `  ${time}  ${text}\n`
}

function requestText({ status, method, path, ms, user }: Line): string {
  const colour = Number(status) >= 500 ? 'red' : Number(status) >= 400 ? 'yellow' : 'green'
  const who = user === undefined ? '' : ` ${printable(user)}`
  return `${styleText(colour, `${status}`)} ${printable(method)} ${printable(path)}${styleText('dim', ` ${ms} ms${who}`)}`
}

function messageText(line: Line): string {
  const colour = line.level === 'error' || line.level === 'fatal' ? 'red' : line.level === 'warn' ? 'yellow' : 'blue'
  const rest = Object.entries(line).filter(([name]) => !placed.has(name))
  const details = rest.map(([name, value]) => `${name}=${printable(value)}`).join(' ')
  const error = line.err as { stack?: string; message?: string } | undefined
  const cause = error ? `\n${error.stack ?? error.message ?? ''}`.replaceAll('\n', '\n            ') : ''
  const request = typeof line.request_id === 'string' ? styleText('dim', ` request ${printable(line.request_id)}`) : ''
  return `${styleText(colour, line.level)} ${line.msg ?? ''}${details ? ` ${styleText('dim', details)}` : ''}${request}${cause}`
}

/** Paths and names come from clients: control characters, which could move the cursor or colour the terminal, are shown escaped. */
function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const short = text.length > 300 ? `${text.slice(0, 300)}…` : text
  return short.replace(/[\p{Cc}\p{Cf}]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
}
