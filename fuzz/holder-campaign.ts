import type { Caller } from './caller.ts'
import { type Claim, claims, rootGoesOn } from './claims.ts'
import type { DescribedOperation } from './description.ts'
import { note, type Options, type Report } from './findings.ts'
import { gainedBetween, rightsOf } from './gained.ts'
import { givesMore, type Holder, isAbout } from './holders.ts'
import { judge, type Limits } from './judge.ts'
import { type Dictionary, mutate } from './mutate.ts'
import { aimed } from './narrow.ts'
import { createRandom, type Random } from './random.ts'
import { wireOf } from './request.ts'
import type { SeedRequest } from './seeds.ts'
import { assembled, type Origin, type Stage, seedsOf } from './stage.ts'
import { pickOperation, shrunk, tally } from './steps.ts'
import { curlLine, type WireRequest } from './wire.ts'

/** Number of requests between two actions of root on the existing data. */
const betweenRoot = 25

interface Drawn {
  readonly operation: DescribedOperation
  readonly by: Caller
  readonly changes: readonly number[]
  build(kept: readonly number[]): WireRequest
}

/**
 * Sends requests of callers with one right each, while root changes only objects: all rights that a caller has gained in
 * the end were not given to it. Answers the number of requests.
 */
export async function runHolders(
  origin: Origin,
  words: Dictionary,
  options: Options & Limits,
  report: Report,
  first: number,
  end: number,
): Promise<number> {
  const count = Math.min(options.holders, options.requests - first)
  if (count <= 0) return 0
  await using stage = await origin.stage()
  const plain = plainClaims(origin, createRandom(options.seed, first))
  const done: { by: string; line: string }[] = []
  let sent = 0
  for (; sent < count && performance.now() < end && !stage.service.ended(); sent++) {
    const number = first + sent
    if (sent % betweenRoot === betweenRoot - 1) await rootGoesOn(stage.scene)
    const one = await drawn(origin, stage, words, options.seed, number, plain.pop())
    if (!one) continue
    const { operation, by, changes } = one
    const look = (wire: WireRequest) => judge(stage.service, by, operation, wire, origin.description, options)
    const whole = one.build(changes)
    const found = await look(whole)
    tally(report, found, operation)
    if (found.lost) stage.signedOut(by.name)
    if (found.carriedOut && operation.method !== 'GET') {
      done.push({ by: by.name, line: curlLine(stage.service.url, whole) })
      for (let use = 0; use < seedsOf(operation.operationId).length; use++) stage.forget(operation.operationId, use)
    }
    if (found.failure) {
      const wire = await shrunk(changes, one.build, look, found)
      await note(origin, stage, report, options, { found, operation, by, wire, number })
    }
  }
  if (!stage.service.ended()) await noteGained(origin, stage, report, options, done, first + sent)
  return Math.max(sent, 1)
}

/** Looks for rights that a caller has gained since the beginning. */
async function noteGained(
  { world }: Origin,
  stage: Stage,
  report: Report,
  options: Options,
  done: readonly { by: string; line: string }[],
  request: number,
): Promise<void> {
  await rootGoesOn(stage.scene)
  await stage.service.rest()
  const now = await rightsOf(stage.callers.root, world, world.holders)
  for (const { login, what } of gainedBetween(world.rights, now)) {
    const own = done.filter(({ by }) => by === login)
    const detail = what.join(', ')
    const curl = (own.length > 0 ? own : done).map(({ line }) => line.slice(0, 1500)).join('\n  ')
    report.findings.push({ kind: 'gained', operationId: '', caller: login, detail, curl, request, alone: false })
    options.say(`gained by ${login}: ${detail}\n  ${curl.slice(0, 6000)}`)
  }
}

/**
 * The claims for each right, unchanged, in any order: first those of callers whose right gives nothing more, since the
 * others may take the grants from them.
 */
function plainClaims({ world }: Origin, random: Random) {
  const all = world.holders.flatMap((holder) => {
    const fitting = claims.filter(({ operationId }) => isAbout(holder.login, operationId))
    return fitting.map((claim) => ({ holder, claim, place: random.next() + (givesMore(holder.login) ? 0 : 1) }))
  })
  return all.sort((a, b) => a.place - b.place)
}

async function drawn(
  { world, description: { operations } }: Origin,
  stage: Stage,
  words: Dictionary,
  seedNumber: number,
  number: number,
  plain: { readonly holder: Holder; readonly claim: Claim } | undefined,
): Promise<Drawn | null> {
  const random = createRandom(seedNumber, number)
  const holder = plain?.holder ?? random.pick(world.holders)
  const fitting = random.chance(0.6)
    ? operations.filter(({ operationId }) => isAbout(holder.login, operationId))
    : operations
  const claim = plain?.claim ?? (random.chance(0.4) ? random.pick(claimsOf(fitting)) : null)
  const operation = claim
    ? operations.find(({ operationId }) => operationId === claim.operationId)
    : pickOperation(fitting.length > 0 ? fitting : operations, random)
  const by = await stage.called(holder.login)
  if (!operation || !by) return null
  const request = await requested(stage, operation, claim, holder, random).catch(() => null)
  if (!request) return null
  const parameters = (operation.parameters ?? []).filter((one) => one.in === 'query').map((one) => one.name)
  const dictionary = { ...words, parameters, values: [...words.values, ...namesOf(holder)] }
  // An unchanged claim shows whether the right is checked; a changed one, whether it is checked everywhere.
  const most = plain ? 0 : claim || random.chance(0.5) ? random.below(2) : 1 + random.below(3)
  return {
    operation,
    by,
    changes: Array.from({ length: most }, (_, change) => change),
    build(kept) {
      const made = assembled(operation, request, by)
      for (const change of kept) mutate(made, createRandom(seedNumber, number, change + 1), dictionary)
      return wireOf(made)
    },
  }
}

/** The claims of these operations; all claims where there are none. */
function claimsOf(operations: readonly DescribedOperation[]): readonly Claim[] {
  const fitting = claims.filter((claim) => operations.some(({ operationId }) => operationId === claim.operationId))
  return fitting.length > 0 ? fitting : claims
}

async function requested(
  stage: Stage,
  operation: DescribedOperation,
  claim: Claim | null,
  holder: Holder,
  random: Random,
): Promise<SeedRequest> {
  if (claim) return claim.make(stage.scene, holder.id)
  const use = random.below(seedsOf(operation.operationId).length)
  const { request } = await stage.seedOf(operation, use)
  return random.chance(0.7) ? aimed(request, stage.scene.world) : request
}

/** The holder, in the forms in which settings name people. */
function namesOf({ id }: Holder): unknown[] {
  const user = { _basetype: 'user', user: { _id: id } }
  return [id, user, { user: { _id: id } }, { ...user, rights: { read: {} } }, [{ who: user, rights: { read: {} } }]]
}
