/**
 * `npm run torture`: load and harm by rounds, then every acknowledged write is compared with what is there.
 *
 *     --rounds <n>     rounds (default 100)
 *     --seconds <n>    of load in each (default 5)
 *     --seed <n>       what the writers do (default: the time)
 *     --writers <n>    at once (default 6)
 *     --faults <names> comma-separated: service, postgres, both, backend, disk (default: all that are possible here)
 *
 * A signal (Ctrl+C) ends it after the round that is under way. The exit code is 1 when anything differs.
 */
import { parseArgs } from 'node:util'
import { mountSmallDisk } from './disk.ts'
import { type FaultName, faultNames } from './faults.ts'
import { torture } from './torture.ts'

/** Megabytes of the disk that is filled: room for some ten thousand objects. */
const diskSize = 1500

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    writers: { type: 'string', default: '6' },
    faults: { type: 'string', default: faultNames.join() },
  },
})
const wanted = values.faults.split(',') as FaultName[]
const unknown = wanted.filter((name) => !faultNames.includes(name))
if (unknown.length > 0) throw new Error(`--faults knows ${faultNames.join(', ')}, not ${unknown.join(', ')}`)
const mounted = wanted.includes('disk') ? await mountSmallDisk(diskSize) : null
if (typeof mounted === 'string') console.log(`no full disk: ${mounted}`)
await using disk = typeof mounted === 'string' ? null : mounted
let ended = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    ended = true
  })
}
console.log(`seed ${values.seed}`)
const outcome = await torture({
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  writers: Number(values.writers),
  faults: disk ? wanted : wanted.filter((name) => name !== 'disk'),
  disk,
  say: (line) => console.log(line),
  ended: () => ended,
})
const { acknowledged, unanswered, objects, faults } = outcome
console.log(
  `${acknowledged} acknowledged writes, ${unanswered} unanswered, ${objects} objects, ${faults.length} faults`,
)
// Faults of the rounds were printed with them.
for (const line of faults.filter((one) => !one.startsWith('round ')).slice(0, 20)) console.log(`  ${line}`)
process.exitCode = faults.length > 0 ? 1 : 0
