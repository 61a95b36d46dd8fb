import type { Caller } from './caller.ts'
import type { DescribedOperation, Description } from './description.ts'
import { recordExamples } from './examples.ts'
import { findWaitedFor, note, type Options, type Report, type Sent } from './findings.ts'
import { runHolders } from './holder-campaign.ts'
import { judge, judgeTogether, type Limits } from './judge.ts'
import { type Dictionary, mutate } from './mutate.ts'
import { narrowed } from './narrow.ts'
import { createRandom, type Random } from './random.ts'
import { wireOf } from './request.ts'
import { assembled, type Origin, type Stage, seedsOf, startOrigin } from './stage.ts'
import { pickOperation, shrunk, tally } from './steps.ts'
import { curlLine, type WireRequest } from './wire.ts'
import type { World } from './world.ts'

/** Requests at the start, when much is done for the first time. */
const warming = 20
/** Number of latest requests among which the cause of a wait is searched. */
const latest = 6

/** Every tenth time, so many requests are sent at once. */
const together = 5

/** Sends changed requests and judges every answer. @throws {Error} when the tool itself has no valid request to begin with. */
export async function fuzz(given: Options): Promise<Report> {
  await using origin = await startOrigin()
  const options = { ...given, hidden: origin.world.pictures.hidden.id }
  const words = dictionaryOf(origin.world, origin.description)
  const examples = await recordExamples(origin)
  await origin.addHolders()
  const report: Report = {
    examples,
    requests: 0,
    carriedOut: 0,
    refused: 0,
    findings: [],
    searched: 0,
    growth: 0,
    slowest: { milliseconds: 0, operationId: '' },
  }
  const end = performance.now() + (options.seconds ?? Number.POSITIVE_INFINITY) * 1000
  for (let first = 0; first < options.requests && performance.now() < end; ) {
    first += await runHolders(origin, words, options, report, first, end)
    const left = Math.min(options.epoch, options.requests - first)
    if (left > 0) first += await runEpoch(origin, words, options, report, first, left, end)
    options.say(
      `${first} requests: ${report.carriedOut} carried out, ${report.refused} refused, ${report.findings.length} findings`,
    )
  }
  return report
}

export function dictionaryOf(world: World, { keys, values }: Description): Dictionary {
  const ids = [world.pools, world.groups, world.users, world.tags, world.objects, world.ids, world.objecttypes].flatMap(
    (map) => Object.values(map),
  )
  const references = ids
    .slice(0, 40)
    .flatMap((id) => [
      { _id: id },
      { pool: { _id: id } },
      { _objecttype: 'work', _mask: '_all_fields', _system_object_id: id },
      { _objecttype: 'person', _mask: '_all_fields', _system_object_id: id },
    ])
  const names = ['work', 'person', 'place', 'topic', 'loan', 'work__standard', 'work__title_only', '_all_fields']
  const fields = ['work.title', 'work.note', 'work.creator.name', 'work.creator', 'person.name', 'work.place', '_pool']
  const system = [
    '_standard',
    '_system_object_id',
    '_created',
    '_changelog',
    '_tags._id',
    '_owner',
    '_uuid',
    '_comment',
  ]
  const elements = [
    { type: 'in', fields: ['_system_object_id'], in: ids },
    { type: 'text', string: '*', mode: 'wildcard', fields: ['work.title'] },
    { type: 'in', fields: ['work.creator._system_object_id'], in: ids },
    { 'lookup:_id': { reference: 'system:root' } },
    { 'lookup:_id': { code: 'EU' } },
    { _objecttype: 'person', person: { 'lookup:_id': { _uuid: 'fuzz-comes-later', _allow_defer: true } } },
  ]
  return {
    keys: [...keys, ...names, '_nested:work__material', '_reverse_nested:loan:work', 'lookup:_id', '_id_parent'],
    parameters: [],
    values: [
      ...values,
      ...ids,
      ...references,
      ...names,
      ...fields,
      ...system,
      ...elements,
      1,
      2,
      null,
      true,
      '2024',
      'ASC',
    ],
    paths: [...names, ...ids.map(String), 'HEAD', 'CURRENT', '1', 'list', 'system/config', 'system_object_id'],
    steps: [...pictureSteps, ...Object.values(world.pictures).flatMap(({ id, hash }) => [`${id}`, hash])],
  }
}

/** Steps for addresses of parts of pictures. */
const pictureSteps = [
  ...['original', 'small', 'preview', 'huge', 'full', 'zoom', 'obj_uuid', 'info.json', 'avoid_interpolation'],
  ...['square', 'max', '^max', '0,0,64,64', '500,250,9999,9999', 'pct:50,50,25,25', '1040,0,1,1', '0,0,0,0'],
  ...['100,', ',100', '!90,90', '^!2000,2000', '3,3', 'pct:0.01', '^9000,', '90', '!180', '45.5', '360'],
  ...['default.png', 'gray.webp', 'bitonal.tif', 'color.jpg', 'default.gif', 'default.jpg'],
  ...['zoom650', 'zoom16640', 'zoom1', 'size16', 'size2048', 'part0x0.jpg', 'part1x0.png', 'part9x9.jpg'],
]

interface Drawn {
  readonly operation: DescribedOperation
  readonly use: number
  readonly by: Caller
  readonly changes: readonly number[]
  build(kept: readonly number[]): WireRequest
}

/** The request with a number; null when an earlier request has removed data that the seeds need. */
async function drawn(
  { world, description: { operations } }: Origin,
  stage: Stage,
  words: Dictionary,
  seedNumber: number,
  number: number,
): Promise<Drawn | null> {
  const random = createRandom(seedNumber, number)
  const operation = pickOperation(operations, random)
  const use = random.below(seedsOf(operation.operationId).length)
  const seed = await stage.seedOf(operation, use).catch(() => null)
  if (!seed) return null
  const by = pickCaller(stage, seed.own, random)
  const request = by === stage.callers.masked && random.chance(0.8) ? narrowed(seed.request, world) : seed.request
  const parameters = (operation.parameters ?? []).filter((one) => one.in === 'query').map((one) => one.name)
  const dictionary = { ...words, parameters }
  const most = random.below(random.pick([1, 1, 2, 4]))
  // Limits by masks only show in successful requests, so some requests are sent unchanged.
  const count = by === stage.callers.masked && random.chance(0.4) ? 0 : 1 + most
  return {
    operation,
    use,
    by,
    changes: Array.from({ length: count }, (_, change) => change),
    build(kept) {
      const made = assembled(operation, request, by)
      for (const change of kept) mutate(made, createRandom(seedNumber, number, change + 1), dictionary)
      return wireOf(made)
    },
  }
}

async function runEpoch(
  origin: Origin,
  words: Dictionary,
  options: Options & Limits,
  report: Report,
  first: number,
  count: number,
  end: number,
): Promise<number> {
  await using stage = await origin.stage()
  let settled = 0
  const sent: Sent[] = []
  for (let index = 0; index < count; index++) {
    if (performance.now() > end) return index
    const number = first + index
    const one = await drawn(origin, stage, words, options.seed, number)
    if (!one) return index + 1
    const { operation, by, changes } = one
    const look = (wire: WireRequest) => judge(stage.service, by, operation, wire, origin.description, options)
    const whole = one.build(changes)
    sent.unshift({ operation, by, wire: whole, number })
    sent.splice(latest)
    const found = await look(whole)
    tally(report, found, operation)
    if (found.othersWaited && found.failure?.kind !== 'others wait' && index >= warming) {
      await findWaitedFor(origin, stage, options, report, sent)
    }
    if (found.carriedOut && operation.method !== 'GET') stage.forget(operation.operationId, one.use)
    if (found.failure) {
      const wire = await shrunk(changes, one.build, look, found)
      await note(origin, stage, report, options, { found, operation, by, wire, number })
    }
    if (stage.service.ended() || found.lost) return index + 1
    if (index % 10 === 9 && (await burst(origin, stage, words, options, report, number))) return index + 1
    if (index === Math.floor(count / 4)) settled = (await stage.service.memory()).rss
  }
  const grown = (await stage.service.memory()).rss - settled
  report.growth = Math.max(report.growth, grown)
  if (count >= 1000 && grown > options.growth) {
    report.findings.push({
      kind: 'memory',
      operationId: '',
      caller: '',
      detail: `the service grew by ${Math.round(grown / 1e6)} MB in ${Math.round(count * 0.75)} requests`,
      curl: `npm run fuzz -- --seed ${options.seed} --requests ${first + count}`,
      request: first + count,
      alone: false,
    })
  }
  return count
}

/**
 * Sends some requests at once, half of them twice, so that they conflict, and then checks the stored data. Answers
 * whether the epoch ends.
 */
async function burst(
  origin: Origin,
  stage: Stage,
  words: Dictionary,
  options: Options & Limits,
  report: Report,
  number: number,
): Promise<boolean> {
  const sent: (Drawn & { readonly wire: WireRequest })[] = []
  for (let index = 0; sent.length < together; index++) {
    const one = await drawn(origin, stage, words, options.seed, 1e9 + number * together + index)
    if (!one) return true
    const wire = one.build(one.changes)
    sent.push({ ...one, wire })
    if (sent.length < together && index % 2 === 0) sent.push({ ...one, wire })
  }
  const answers = await Promise.all(
    sent.map(({ by, operation, wire }) =>
      judgeTogether(stage.service, by, operation, wire, origin.description, options),
    ),
  )
  const isWarm = number % options.epoch >= warming
  if (isWarm && !stage.service.ended() && (await stage.service.turn()).worked > options.turn) {
    const suspects = sent.map(({ operation, by, wire }) => ({ operation, by, wire, number }))
    await findWaitedFor(origin, stage, options, report, suspects)
  }
  for (const [index, found] of answers.entries()) {
    const { operation, by, wire, use } = sent[index] as (typeof sent)[number]
    tally(report, found, operation)
    if (found.carriedOut && operation.method !== 'GET') stage.forget(operation.operationId, use)
    if (found.failure) await note(origin, stage, report, options, { found, operation, by, wire, number })
  }
  const broken = stage.service.ended() ? [] : await stage.service.broken()
  for (const detail of broken) {
    const requests = sent.map(({ wire }) => curlLine(stage.service.url, wire)).join('\n  ')
    report.findings.push({
      kind: 'invariant',
      operationId: sent.map(({ operation }) => operation.operationId).join(),
      caller: sent.map(({ by }) => by.name).join(),
      detail: `after requests at once: ${detail}`,
      curl: requests,
      request: number,
      alone: false,
    })
    options.say(`invariant: ${detail}\n  ${requests.slice(0, 3000)}`)
  }
  return stage.service.ended() || broken.length > 0 || answers.some(({ lost }) => lost)
}

function pickCaller({ callers }: Stage, own: Caller, random: Random): Caller {
  const place = random.next()
  if (own !== callers.root) return place < 0.7 ? own : callers.limited
  if (place < 0.45) return callers.root
  if (place < 0.65) return callers.masked
  return place < 0.94 ? callers.limited : callers.nobody
}
