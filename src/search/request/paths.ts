/** Names of fields of other objects: each step of a link is a search of its own among the objects behind it. */
import { AppError } from '../../platform/errors.ts'
import { firstStep, isShown, type LinkStep, mostSteps } from '../plan/field-paths.ts'
import type { FieldCatalogue } from '../plan/fields.ts'
import type { Clause, SearchScope } from '../plan/plan.ts'
import type { ElementContext } from './clauses.ts'
import { searchLimits, tooCostly } from './cost.ts'
import { findName, type Named, notAllowed, resolveName, unknownField } from './names.ts'
import { deepest, wrong } from './read.ts'

/** A resolved name: the steps to the objects that it is about, and its meaning there. */
export interface NamedPath {
  /** Empty: the name is about the searched objects themselves. */
  readonly steps: readonly LinkStep[]
  readonly named: Named
}

/** @throws {AppError} `SearchFieldUnknown`, also if no mask shows a step or the field at the end */
export function resolvePath(fields: FieldCatalogue, written: string): NamedPath {
  const steps: LinkStep[] = []
  let rest = written
  for (;;) {
    const named = findName(fields, rest)
    if (named && (steps.length === 0 || isNamedShown(named))) return { steps, named }
    const next = named || steps.length === mostSteps ? null : firstStep(fields, rest)
    if (!next) return { steps, named: unknown(fields, written, rest, steps) }
    steps.push(next.step)
    rest = next.rest
  }
}

function isNamedShown(named: Named): boolean {
  if (named.kind === 'system' || named.kind === 'id' || named.kind === 'parent') return true
  return isShown(named.field.part?.of ?? named.field.column)
}

/** @throws {AppError} always: `SearchFieldUnknown`, with the field of the same object type that was probably meant. */
function unknown(fields: FieldCatalogue, written: string, rest: string, steps: readonly LinkStep[]): never {
  const last = steps.at(-1)
  if (!last) {
    resolveName(fields, written)
    throw unknownField(written, [])
  }
  const start = written.slice(0, written.length - rest.length)
  const own = fields.types.get(last.target.id)?.all ?? []
  throw unknownField(
    written,
    own.filter(({ column, part }) => isShown(part?.of ?? column)).map(({ name }) => `${start}${name}`),
  )
}

/** The result of a step: the context in which the rest of the name is resolved. */
export interface Through {
  readonly step: LinkStep
  readonly rest: string
}

/** The first step of a name that goes through a link; null: the name is about the objects themselves. */
export function throughLink(name: string, context: ElementContext): Through | null {
  const { steps } = resolvePath(context.fields, name)
  if (steps.length === 0) return null
  const next = firstStep(context.fields, name)
  if (!next) throw new Error('a resolved name has its steps')
  return next
}

/**
 * Finds objects that lead by the step to an object which fulfils a condition. The caller must be able to read that object and to
 * see the link. `clauseOf` gives the condition, compiled for the objects that the step leads to.
 */
export function linkedClause(
  { step }: Pick<Through, 'step'>,
  name: string,
  place: string,
  context: ElementContext,
  clauseOf: (inner: ElementContext) => Clause,
): Clause {
  if (context.depth >= deepest) throw wrong(place, `nested at most ${deepest} deep`)
  if (context.nested && (step.reverse || step.field.path.at(-1) !== context.nested.table)) {
    throw new AppError('NestedQueryIn', { field: name, in: context.nested.name })
  }
  if (++context.links.count > searchLimits.links) throw tooCostly('links')
  const inner = context.within(step.target)
  return toLinked(step, context.scopeOf(step.target, clauseOf(inner)))
}

function toLinked({ field, reverse }: LinkStep, of: SearchScope): Clause {
  return reverse ? { is: 'joined', field: null, of, by: field } : { is: 'linked', field, of }
}

/** Resolves a name where links are not allowed. @throws {AppError} `SearchFieldUnknown`, `SearchFieldNotAllowed` */
export function resolveOwn(fields: FieldCatalogue, written: string, use: string): Named {
  const { steps, named } = resolvePath(fields, written)
  if (steps.length > 0) throw notAllowed(written, use)
  return named
}
