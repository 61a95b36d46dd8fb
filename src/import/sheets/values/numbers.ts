/** The sign before the decimals. */
export type DecimalSign = '.' | ','

/** A number with a separator for thousands: `1.234,5`, `1'234.5`, `1 234`. */
const patterns: Record<DecimalSign, RegExp> = {
  '.': /^[+-]?(?:\d+|\d{1,3}(?:[,'’\u00a0\u202f ]\d{3})+)(?:\.\d+)?$/,
  ',': /^[+-]?(?:\d+|\d{1,3}(?:[.'’\u00a0\u202f ]\d{3})+)(?:,\d+)?$/,
}

/** Digits, sign and point in the form for `Number`; null when it is no number. A minus sign may be typographic. */
export function plainNumber(text: string, sign: DecimalSign): string | null {
  const ascii = text.replace(/^[−–] ?(?=\d)/, '-')
  if (!patterns[sign].test(ascii)) return null
  const decimals = ascii.lastIndexOf(sign)
  const whole = decimals < 0 ? ascii : ascii.slice(0, decimals)
  const digits = whole.replaceAll(/[^\d-]/g, '')
  return decimals < 0 ? digits : `${digits}.${ascii.slice(decimals + 1)}`
}

export function decimalsOf(plain: string): number {
  const point = plain.indexOf('.')
  return point < 0 ? 0 : plain.length - point - 1
}

/** An integer, if it can be represented exactly. */
export function readInteger(text: string, sign: DecimalSign): number | null {
  const plain = plainNumber(text, sign)
  if (plain === null || /\.\d*[1-9]/.test(plain)) return null
  const value = Number(plain)
  return Number.isSafeInteger(value) ? value : null
}

/** Hundredths: `12,5` is 1250. Null with more than two decimals, which would be lost. */
export function readHundredths(text: string, sign: DecimalSign): number | null {
  const plain = plainNumber(text, sign)
  if (plain === null) return null
  const [whole = '', decimals = ''] = plain.split('.')
  if (/[1-9]/.test(decimals.slice(2))) return null
  const value = Number(`${whole}${decimals.slice(0, 2).padEnd(2, '0')}`)
  return Number.isSafeInteger(value) ? value : null
}

export function readDouble(text: string, sign: DecimalSign): number | null {
  const plain = plainNumber(text, sign) ?? (/^[+-]?\d+(?:\.\d+)?e[+-]?\d{1,3}$/i.test(text) ? text : null)
  if (plain === null) return null
  const value = Number(plain)
  return Number.isFinite(value) ? value : null
}

const words: readonly (readonly [string, string])[] = [
  ['true', 'false'],
  ['yes', 'no'],
  ['ja', 'nein'],
  ['wahr', 'falsch'],
  ['oui', 'non'],
  ['x', ''],
]

/** Yes or no in the words of some languages, including `1` and `0`. */
export function readBoolean(text: string): boolean | null {
  const lower = text.toLowerCase()
  if (lower === '1' || words.some(([yes]) => yes === lower)) return true
  return lower === '0' || words.some(([, no]) => no === lower) ? false : null
}
