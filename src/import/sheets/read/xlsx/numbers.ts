/** Formats of dates that every spreadsheet program has, by their numbers (ECMA-376, 18.8.30). */
const dateFormats = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 30, 36, 45, 46, 47, 50, 57])

/** Whether a number in this format is a date or a time. */
export function isDateFormat(id: number, code: string | undefined): boolean {
  if (code === undefined) return dateFormats.has(id)
  // Without literal texts, colours and languages: `[Red]0.00 "yards"` is no date.
  const bare = code.replaceAll(/"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^[\]]*\]/gi, '')
  return /[ymdhs]/i.test(bare) && !/^general$/i.test(bare.trim())
}

const dayMs = 86_400_000

/**
 * A number of days as a date: `1890-05-03` cannot be one, since days count from 1900 (or 1904). With a fraction it has a
 * time; without whole days it is a time alone.
 */
export function dateOfSerial(serial: number, from1904: boolean): string | null {
  if (!Number.isFinite(serial) || serial < 0 || serial > 2_958_466) return null
  // The first spreadsheet programs treated 1900 as a leap year, and all others do the same.
  const days = from1904 ? serial + 1462 : serial < 60 ? serial + 1 : serial
  const moment = new Date(Math.round((days - 25_569) * 86_400) * 1000)
  const text = moment.toISOString()
  if (serial < 1 && !from1904) return text.slice(11, 19)
  return moment.getTime() % dayMs === 0 ? text.slice(0, 10) : text.slice(0, 19)
}

/** A number as people write it: `0.1`, where the file has 0.10000000000000001. */
export function numberText(text: string): string {
  const value = Number(text)
  return text.trim() === '' || !Number.isFinite(value) ? text : String(value)
}

/** `AB12` is column 27, counted from 0; -1 when it is no cell reference. */
export function columnOf(reference: string): number {
  const letters = /^([A-Z]{1,3})\d{1,7}$/.exec(reference)?.[1]
  if (letters === undefined) return -1
  let column = 0
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}
