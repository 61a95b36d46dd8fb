const isoMoment = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/

/** Whether a text begins with a day that the calendar has: JavaScript reads 30 February as a day in March. */
export function beginsWithDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return false
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** A moment in ISO 8601, of the years 1 to 9999; without a time: the start of the day; without a zone: UTC. Null: it is none. */
export function parseMoment(text: string): Date | null {
  if (!isoMoment.test(text) || !beginsWithDay(text)) return null
  const [day = '', time = '00:00Z'] = text.split('T')
  const zoned = /(?:Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`
  const at = new Date(`${day}T${zoned.replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
  const year = at.getUTCFullYear()
  return year >= 1 && year <= 9999 ? at : null
}
