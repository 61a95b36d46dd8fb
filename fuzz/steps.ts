import type { DescribedOperation } from './description.ts'
import type { Report } from './findings.ts'
import type { Judgement } from './judge.ts'
import type { Random } from './random.ts'
import type { WireRequest } from './wire.ts'

export function pickOperation(operations: readonly DescribedOperation[], random: Random): DescribedOperation {
  const heavy = ['saveObjects', 'search', 'deleteObjects', 'savePools', 'saveGroups', 'saveTransitions', 'listEvents']
  if (random.chance(0.3)) {
    const id = random.pick(heavy)
    const found = operations.find((one) => one.operationId === id)
    if (found) return found
  }
  const any = random.pick(operations)
  // Hashing a password takes as long as a hundred other requests.
  return costly.includes(any.operationId) && random.chance(0.8) ? random.pick(operations) : any
}

const costly = [
  'createToken',
  'authorize',
  'authorizeWithForm',
  'introspectToken',
  'refreshBrowserSession',
  'endOtherSessions',
  'endOneSession',
  'revokeToken',
  'changePassword',
  'deleteUser',
  'saveUsers',
  'runTransition',
]

export function tally(report: Report, found: Judgement, { operationId }: DescribedOperation): void {
  report.requests++
  if (found.carriedOut) report.carriedOut++
  else report.refused++
  if (found.milliseconds > report.slowest.milliseconds) {
    report.slowest = { milliseconds: Math.round(found.milliseconds), operationId }
  }
}

/** The request with the fewest changes that still fails in the same way. */
export async function shrunk(
  changes: readonly number[],
  build: (kept: readonly number[]) => WireRequest,
  look: (wire: WireRequest) => Promise<Judgement>,
  found: Judgement,
): Promise<WireRequest> {
  let kept = changes
  for (const change of changes) {
    if (kept.length === 1) break
    const fewer = kept.filter((one) => one !== change)
    const again = await look(build(fewer))
    if (again.failure?.kind === found.failure?.kind) kept = fewer
  }
  return build(kept)
}
