/**
 * `npm run fuzz`: sends changed requests to every endpoint of a separate service, and fails on wrong answers. Options:
 * --requests, --seed, --epoch, --holders, --slow and --turn (milliseconds that an answer may take, and for which others
 * may wait), --growth (MB).
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fuzz } from './campaign.ts'

// A service is started for each epoch; the compile cache saves half of its loading time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '..', 'node_modules', '.cache', 'compile')

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    epoch: { type: 'string', default: '5000' },
    holders: { type: 'string', default: '500' },
    slow: { type: 'string', default: '3000' },
    turn: { type: 'string', default: '500' },
    growth: { type: 'string', default: '150' },
  },
})

function number(name: keyof typeof values): number {
  const value = Number(values[name])
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} must be a whole number`)
  return value
}

const begun = performance.now()
const seed = number('seed')
console.log(`seed ${seed}`)
const report = await fuzz({
  requests: number('requests'),
  seed,
  epoch: number('epoch'),
  holders: number('holders'),
  slow: number('slow'),
  turn: number('turn'),
  growth: number('growth') * 1e6,
  say: (line) => console.log(line),
})
const seconds = (performance.now() - begun) / 1000
console.log(
  `${report.requests} requests in ${seconds.toFixed(0)} s: ${report.carriedOut} carried out, ${report.refused} refused; ` +
    `slowest ${report.slowest.milliseconds} ms (${report.slowest.operationId}), ` +
    `most growth ${Math.round(report.growth / 1e6)} MB in an epoch`,
)
for (const { kind, operationId, caller, detail, curl } of report.findings) {
  console.log(`\n${kind}: ${operationId} as ${caller}: ${detail}\n  ${curl.slice(0, 3000)}`)
}
process.exit(report.findings.length > 0 ? 1 : 0)
