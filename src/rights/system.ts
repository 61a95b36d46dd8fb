import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'

/**
 * Does the actor have a system right? `variants` name parameters, any of which suffices: `get` (a flag that is on) or
 * `level=commit` (a list that contains the value). Without variants the right alone suffices. Root has every right.
 */
export function hasSystemRight(actor: Actor, right: string, ...variants: string[]): boolean {
  if (actor.isRoot) return true
  const parameters = actor.systemRights.get(right)
  if (!parameters) return false
  return variants.length === 0 || variants.some((variant) => hasVariant(parameters, variant))
}

function hasVariant(parameters: Readonly<Record<string, unknown>>, variant: string): boolean {
  const [name = '', value] = variant.split('=', 2)
  const held = parameters[name]
  if (value === undefined) return held === true
  return Array.isArray(held) ? held.includes(value) : held === value
}

/**
 * Refuses an actor without the system right.
 * @throws {AppError} `SystemRightRequired`; `rights` lists what would have sufficed, `right` is the first of them.
 */
export function requireSystem(actor: Actor, right: string, ...variants: string[]): void {
  if (hasSystemRight(actor, right, ...variants)) return
  const sufficient = variants.length === 0 ? [right] : variants.map((variant) => `${right}[${variant}]`)
  throw new AppError('SystemRightRequired', { right: sufficient[0], rights: [...sufficient, 'system.root'] })
}
