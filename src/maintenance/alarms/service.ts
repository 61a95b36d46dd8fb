/**
 * Alarms: conditions that last until an administrator acts, reported by mail. These are disks with little free space (each process
 * checks those of its own machine), and certificates that expire. An alarm is reported once a day at most, whichever process finds
 * it.
 */
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../../platform/process/periodic.ts'
import { type FullDisk, fullDisks } from './disks.ts'

export interface Certificate {
  /** The place of its configuration. */
  readonly of: string
  readonly subject: string
  readonly validTo: string
}

export interface AlarmDeps {
  readonly db: Db
  readonly log: Pick<Logger, 'warn'>
  /** Queues a mail to administrators. */
  readonly mail: (tx: Tx, subject: string, text: string) => Promise<void>
  /** Folders whose disks are checked. */
  readonly folders: () => Promise<readonly string[]>
  /** An alarm is raised when a disk has fewer free bytes; 0: disks are not checked. */
  readonly leastFree: number
  readonly certificates: () => Promise<readonly Certificate[]>
  readonly paused: () => boolean
}

/** A condition to report. */
interface Alarm {
  readonly subject: string
  /** Identifies the condition: it is reported again after `days` days. */
  readonly name: string
  readonly days: number
  readonly line: string
}

const tenMinutes = 600_000
/** Milliseconds before its end from which a certificate is reported. */
const month = 30 * 86_400_000
/** Days for which reported alarms are remembered. */
const remembered = 30

const subjects = {
  disk: 'Little room is left on a disk',
  ended: 'A certificate has ended',
  ending: 'A certificate ends soon',
} as const

export function createAlarms({ db, log, mail, folders, leastFree, certificates, paused }: AlarmDeps): Periodic {
  async function work(now: Date): Promise<void> {
    const full = leastFree > 0 ? await fullDisks(await folders(), leastFree) : []
    const found = [...full.map((disk) => diskAlarm(disk, leastFree)), ...certificateAlarms(await certificates(), now)]
    await db.transaction(async (tx) => {
      const due = await takeDue(tx, found, now)
      for (const [subject, alarms] of Map.groupBy(due, (one) => one.subject)) {
        const text = alarms.map(({ line }) => line).join('\n')
        tx.afterCommit(() => log.warn({ alarm: text }, subject))
        await mail(tx, subject, text)
      }
    })
  }

  return createPeriodic({
    every: tenMinutes,
    paused,
    work: (_, at) => work(at ?? new Date()),
    onFailure: (error) => log.warn({ err: error }, 'it could not be found out what administrators are to be told'),
  })
}

/** The alarms that were not reported lately; marks them as reported. */
async function takeDue(tx: Tx, found: readonly Alarm[], now: Date): Promise<Alarm[]> {
  await tx.query(`delete from alarm where told_at < $1::timestamptz - $2 * interval '1 day'`, [now, remembered])
  if (found.length === 0) return []
  const known = new Map(found.map((alarm) => [alarm.name, alarm]))
  const { rows } = await tx.query<{ name: string }>(
    `insert into alarm as a (name, told_at)
     select name, $2::timestamptz from jsonb_to_recordset($1) as n (name text) order by name
     on conflict (name) do update set told_at = excluded.told_at
       where a.told_at <= excluded.told_at - (select days from jsonb_to_recordset($1) as n (name text, days int)
         where n.name = a.name) * interval '1 day'
     returning name`,
    [JSON.stringify([...known.values()].map(({ name, days }) => ({ name, days }))), now],
  )
  const due = new Set(rows.map(({ name }) => name))
  return [...known.values()].filter(({ name }) => due.has(name))
}

function diskAlarm({ folder, free, size }: FullDisk, least: number): Alarm {
  const machine = hostname()
  return {
    subject: subjects.disk,
    name: `disk ${machine} ${folder}`,
    days: 1,
    line: `${folder} on ${machine}: ${megabytes(free)} of ${megabytes(size)} are free, fewer than ${megabytes(least)}.`,
  }
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`

function certificateAlarms(certificates: readonly Certificate[], now: Date): Alarm[] {
  return certificates.flatMap(({ of, subject, validTo }): Alarm[] => {
    const left = Date.parse(validTo) - now.getTime()
    if (left > month) return []
    const ended = left <= 0
    return [
      {
        subject: ended ? subjects.ended : subjects.ending,
        name: `certificate ${ended ? 'ended' : 'ending'} ${of} ${subject} ${validTo}`,
        // There is a month to replace a certificate that expires.
        days: ended ? 1 : 7,
        line: `${of}: ${subject}, valid to ${validTo}.`,
      },
    ]
  })
}
