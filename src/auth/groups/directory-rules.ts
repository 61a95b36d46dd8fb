import { isDeepStrictEqual } from 'node:util'
import { RE2JS } from 're2js'
import { saysSomething } from '../../platform/body-names.ts'
import { badRequest } from '../../platform/errors.ts'
import { assertStorable } from '../../platform/text.ts'
import type { StoredGroup } from '../model.ts'
import { type GroupInput, groupRuleMethods, waitingGroupRules } from '../schema.ts'

type Rules = readonly { readonly method: string; readonly value: string }[]

/** Rules by which directories put people into the group. @throws {AppError} naming the rule that is wrong */
export function groupMapsOf(
  { _auth_method_group_maps: given }: GroupInput,
  stored: StoredGroup | null,
  path: string,
): Record<string, unknown> {
  const before = stored?.authMethodGroupMaps ?? {}
  if (given === undefined) return { ...before }
  assertStorable(given, path)
  const { ldap = [], sso = [], system } = given ?? {}
  assertRules(ldap, `${path}.ldap`)
  assertRules(sso, `${path}.sso`)
  if (saysSomething(system) && !isDeepStrictEqual(system, before.system)) {
    throw badRequest(`${path}.system: ${waitingGroupRules}`, { name: `${path}.system` })
  }
  return {
    ...(ldap.length > 0 ? { ldap } : {}),
    ...(sso.length > 0 ? { sso } : {}),
    ...(saysSomething(system) ? { system } : {}),
  }
}

function assertRules(rules: Rules, path: string): void {
  rules.forEach(({ method, value }, index) => {
    const at = `${path}[${index}]`
    if (!groupRuleMethods.some((one) => one === method)) {
      throw badRequest(`${at}.method must be one of ${groupRuleMethods.join(', ')}`, { path: `${at}.method`, method })
    }
    if (value === '') throw badRequest(`${at}.value must be given`, { path: `${at}.value` })
    if (method === 'regexp' && !isPattern(value)) {
      const text = `${at}.value must be a regular expression (RE2: no look-ahead, no back references)`
      throw badRequest(text, { path: `${at}.value`, value })
    }
  })
}

function isPattern(source: string): boolean {
  try {
    RE2JS.compile(source)
    return true
  } catch {
    return false
  }
}
