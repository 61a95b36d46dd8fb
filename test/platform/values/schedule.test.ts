import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nextOfAll, nextTime, type Schedule } from '../../../src/platform/values/schedule.ts'

test('the next time of a schedule, in its time zone', () => {
  // A Thursday.
  const after = '2026-01-01T10:15:00Z'
  const table: [what: string, schedule: Schedule, expected: string | null, from?: string][] = [
    ['nothing said', {}, null],
    ['only a time zone', { timezone: 'Europe/Berlin' }, null],
    ['empty lists', { hours: [], weekdays: [], minutes: [], days_of_month: [] }, null],
    ['an hour still to come', { hours: [12] }, '2026-01-01T12:00:00.000Z'],
    ['an hour that is over', { hours: [9] }, '2026-01-02T09:00:00.000Z'],
    ['the earliest of several', { hours: [18, 11], minutes: [30, 0] }, '2026-01-01T11:00:00.000Z'],
    ['minutes of every hour', { minutes: [10, 40] }, '2026-01-01T10:40:00.000Z'],
    ['exactly now is over', { hours: [10], minutes: [15] }, '2026-01-02T10:15:00.000Z'],
    ['a day of the week begins', { weekdays: ['mon'] }, '2026-01-05T00:00:00.000Z'],
    ['today, later', { weekdays: ['thu'], hours: [20] }, '2026-01-01T20:00:00.000Z'],
    [
      'a day that not every month has',
      { days_of_month: [31], hours: [8] },
      '2026-03-31T08:00:00.000Z',
      '2026-02-01T00:00:00Z',
    ],
    [
      'a day of month that is that day of the week',
      { days_of_month: [13], weekdays: ['fri'] },
      '2026-02-13T00:00:00.000Z',
    ],
    ['winter in Berlin', { hours: [8], timezone: 'Europe/Berlin' }, '2026-01-02T07:00:00.000Z'],
    ['summer in Berlin', { hours: [8], timezone: 'Europe/Berlin' }, '2026-07-01T06:00:00.000Z', '2026-07-01T00:00:00Z'],
    [
      'an hour that is left out in spring',
      { hours: [2], minutes: [30], timezone: 'Europe/Berlin' },
      '2026-03-29T01:30:00.000Z',
      '2026-03-28T12:00:00Z',
    ],
    [
      'an hour that autumn has twice, named: once',
      { hours: [2], minutes: [30], timezone: 'Europe/Berlin' },
      '2026-10-26T01:30:00.000Z',
      '2026-10-25T00:30:00Z',
    ],
    [
      'every hour: both of them',
      { minutes: [30], timezone: 'Europe/Berlin' },
      '2026-10-25T01:30:00.000Z',
      '2026-10-25T00:30:00Z',
    ],
    [
      'every hour in spring',
      { minutes: [30], timezone: 'Europe/Berlin' },
      '2026-03-29T01:30:00.000Z',
      '2026-03-29T00:30:00Z',
    ],
    [
      'another day there',
      { weekdays: ['fri'], timezone: 'Pacific/Auckland' },
      '2026-01-08T11:00:00.000Z',
      '2026-01-01T11:30:00Z',
    ],
  ]
  for (const [what, schedule, expected, from = after] of table) {
    assert.equal(nextTime(schedule, new Date(from))?.toISOString() ?? null, expected, what)
  }
})

test('every hour of the days on which the clock is changed comes once, in order', () => {
  for (const [day, hours] of [
    ['2026-03-29', 23],
    ['2026-10-25', 25],
  ] as const) {
    const begin = Temporal.PlainDate.from(day).toZonedDateTime('Europe/Berlin')
    const end = begin.add({ days: 1 }).epochMilliseconds
    const times: number[] = []
    for (let at = begin.epochMilliseconds - 1; at < end; ) {
      const next = nextTime({ minutes: [0], timezone: 'Europe/Berlin' }, new Date(at)) as Date
      at = next.getTime()
      if (at < end) times.push(at)
    }
    assert.equal(times.length, hours)
    assert.ok(times.every((at, index) => index === 0 || at - (times[index - 1] as number) === 3_600_000))
  }
})

test('the next time of several schedules is the earliest', () => {
  const after = new Date('2026-01-01T10:15:00Z')
  const next = nextOfAll([{ hours: [12] }, { minutes: [30] }, {}], after)
  assert.equal(next?.toISOString(), '2026-01-01T10:30:00.000Z')
  assert.equal(nextOfAll([{}], after), null)
  assert.equal(nextOfAll([], after), null)
})

test('whatever is said, the next time comes later and fits', () => {
  const list = <T>(of: fc.Arbitrary<T>) => fc.uniqueArray(of, { maxLength: 3 })
  const schedules = fc.record({
    days_of_month: list(fc.integer({ min: 1, max: 31 })),
    weekdays: list(fc.constantFrom('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')),
    hours: list(fc.integer({ min: 0, max: 23 })),
    minutes: list(fc.integer({ min: 0, max: 59 })),
  })
  const moments = fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(schedules, moments, (schedule, after) => {
      const next = nextTime(schedule, after)
      const says = Object.values(schedule).some((values) => values.length > 0)
      assert.equal(next !== null, says)
      if (!next) return
      assert.ok(next > after)
      const fits = <T>(values: readonly T[], value: T) => values.length === 0 || values.includes(value)
      assert.ok(fits(schedule.days_of_month, next.getUTCDate()))
      assert.ok(
        fits(
          schedule.weekdays,
          (['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[next.getUTCDay()] ?? 'sun',
        ),
      )
      assert.ok(fits(schedule.hours, next.getUTCHours()))
      assert.ok(fits(schedule.minutes, next.getUTCMinutes()))
    }),
  )
})
