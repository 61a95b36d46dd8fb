import type { Example } from '../src/system/openapi/examples.ts'
import type { Caller } from './caller.ts'
import type { DescribedOperation } from './description.ts'
import { isLongAgain, type Judgement, judge, type Limits, othersWait } from './judge.ts'
import type { FuzzedService } from './service.ts'
import type { Origin, Stage } from './stage.ts'
import { curlLine, type WireRequest } from './wire.ts'

export interface Options extends Omit<Limits, 'hidden'> {
  requests: number
  seed: number
  /** Requests after which the world is reset to its beginning, and the service restarted. */
  epoch: number
  /** Requests before each epoch by callers with one right each, on a separate world. */
  holders: number
  /** Most bytes by which the resident memory of the service may grow during an epoch. */
  growth: number
  /** Seconds after which no more requests are sent. */
  seconds?: number
  say(line: string): void
}

export interface Finding {
  kind: string
  operationId: string
  caller: string
  detail: string
  /** The request as a command that sends it again. */
  curl: string
  /** Number of the request in the run. */
  request: number
  /** Whether it also happens on the original world. */
  alone: boolean
}

export interface Report {
  /** Answers to the valid requests, for the description. */
  examples: Record<string, Example>
  requests: number
  carriedOut: number
  refused: number
  findings: Finding[]
  /** Number of searches for the cause of a wait. */
  searched: number
  /** Most bytes by which the resident memory grew in an epoch. */
  growth: number
  slowest: { milliseconds: number; operationId: string }
}

/** A search for the cause of a wait needs a world for each of the latest requests. */
const mostSearches = 3
/** Bytes from which on a request is a likely cause of a wait. */
const large = 3000

export async function note(
  origin: Origin,
  stage: Stage,
  report: Report,
  options: Options & Limits,
  {
    found,
    operation,
    by,
    wire,
    number,
  }: { found: Judgement; operation: DescribedOperation; by: Caller; wire: WireRequest; number: number },
): Promise<void> {
  const { kind, detail } = found.failure ?? { kind: '', detail: '' }
  const { operationId } = operation
  const same = (one: Finding): boolean => one.kind === kind && one.operationId === operationId && one.detail === detail
  if (report.findings.some(same)) return
  const alone = kind !== 'description' && (await happensAlone(origin, operation, by, wire, options, kind))
  // The caller's rights have changed since the beginning: only on the original world is it data of another user.
  if (kind === 'leak' && !alone) return
  // A request that was slow only once does not count, either.
  if (kind === 'others wait' && !alone) return
  // Root has moved the location of files.
  if (detail === '503 ServiceUnavailable' && !alone) return
  const finding = {
    kind,
    operationId,
    caller: by.name,
    detail,
    curl: curlLine(stage.service.url, wire),
    request: number,
    alone,
  }
  report.findings.push(finding)
  options.say(
    `${kind} in ${operationId} as ${by.name}${alone ? '' : ' (not alone)'}: ${detail}\n  ${finding.curl.slice(0, 3000)}`,
  )
  if (kind === 'failure' || kind === 'no answer') options.say(`  ${stage.service.output().slice(-1500)}`)
}

/** Sends the request again on the original world. */
async function happensAlone(
  origin: Origin,
  operation: DescribedOperation,
  by: Caller,
  wire: WireRequest,
  options: Options & Limits,
  kind: string,
): Promise<boolean> {
  await using stage = await origin.stage()
  const [again, sent] = await onStage(stage, by, wire)
  const found = await judge(stage.service, again, operation, sent, origin.description, options)
  return found.failure?.kind === kind
}

export interface Sent {
  readonly operation: DescribedOperation
  readonly by: Caller
  readonly wire: WireRequest
  readonly number: number
}

/**
 * Other callers have waited, and not for the request in progress, or for one of several: searches the cause among the
 * latest requests, each of them alone on a separate world.
 */
export async function findWaitedFor(
  origin: Origin,
  stage: Stage,
  options: Options & Limits,
  report: Report,
  suspects: readonly Sent[],
): Promise<void> {
  if (report.searched === mostSearches) return
  report.searched++
  for (const one of suspects) {
    const { operation, by, wire, number } = one
    const isLarge = (wire.body?.length ?? 0) + wire.target.length > large
    // A small request gets no world of its own, unless the wait occurs again.
    if (!isLarge && !(stage.service.ended() || (await isLongAgain(stage.service, by, wire, options, 1)))) continue
    if (!(await onOwnWorlds(origin, by, wire, (service, again, sent) => isLongAgain(service, again, sent, options, 1))))
      continue
    const found = { carriedOut: false, milliseconds: 0, failure: othersWait(options), lost: false }
    await note(origin, stage, report, options, { found, operation, by, wire, number })
    return
  }
}

/** Whether it happens twice, each time on the original world. */
async function onOwnWorlds(
  origin: Origin,
  by: Caller,
  wire: WireRequest,
  isSo: (service: FuzzedService, by: Caller, wire: WireRequest) => Promise<boolean>,
): Promise<boolean> {
  for (let attempt = 0; attempt < 2; attempt++) {
    await using stage = await origin.stage()
    const [again, sent] = await onStage(stage, by, wire)
    if (!(await isSo(stage.service, again, sent))) return false
  }
  return true
}

/** The same caller on that stage, and the request with that caller's token. */
async function onStage(stage: Stage, by: Caller, wire: WireRequest): Promise<[Caller, WireRequest]> {
  const again = (await stage.called(by.name)) ?? stage.callers.nobody
  const renewed = (text: string): string => (by.token && again.token ? text.replaceAll(by.token, again.token) : text)
  const headers = Object.fromEntries(Object.entries(wire.headers).map(([name, value]) => [name, renewed(value)]))
  const bytes = wire.bytes ? { bytes: Buffer.from(renewed(wire.bytes.toString('latin1')), 'latin1') } : {}
  return [again, { ...wire, headers, ...bytes }]
}
