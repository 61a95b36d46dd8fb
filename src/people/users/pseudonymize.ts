import { randomBytes } from 'node:crypto'
import type { ForgottenPerson } from '../../events/service.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { displaynameOf, identityKey, type StoredUser } from '../model.ts'
import type { PseudonymizationField } from '../schema.ts'
import type { PictureFiles } from './pictures.ts'
import * as store from './store.ts'

/** The treatments of a field when its user is archived, mildest first. */
const strategies = ['keep', 'randomize', 'clear'] as const
type Strategy = (typeof strategies)[number]
type Plan = ReadonlyMap<PseudonymizationField, Strategy>

/** The fields that `additional_info` of a group's settings covers, beside the picture. */
const additionalInfo = [
  'company',
  'department',
  'phone',
  'remarks',
  'address_supplement',
  'street',
  'house_number',
  'postal_code',
  'town',
  'state',
  'country',
] as const

/** The treatment of fields that the groups require for an archived user. Where groups differ, the stricter one counts. */
async function planOf(from: Queryable, groupIds: readonly number[]): Promise<Plan> {
  const { rows } = await from.query<{ fields: Readonly<Partial<Record<PseudonymizationField, Strategy>>> }>(
    `select pseudonymization->'user' as fields from "group"
     where id = any($1) and jsonb_typeof(pseudonymization->'user') = 'object'`,
    [groupIds],
  )
  const plan = new Map<PseudonymizationField, Strategy>()
  for (const { fields } of rows) {
    for (const [name, wanted] of Object.entries(fields) as [PseudonymizationField, Strategy][]) {
      const before = plan.get(name) ?? 'keep'
      plan.set(name, strategies.indexOf(wanted) > strategies.indexOf(before) ? wanted : before)
    }
  }
  return plan
}

/**
 * Removes fields of a user that is being archived, or replaces them by random texts, as its groups require. Returns what must also
 * be removed from the log; null: nothing.
 */
export async function pseudonymize(
  tx: Tx,
  user: StoredUser,
  groupIds: readonly number[],
  pictures: Pick<PictureFiles, 'givenUp'>,
): Promise<ForgottenPerson | null> {
  const plan = await planOf(tx, groupIds)
  const treated = [...plan].flatMap(([field, strategy]) => (strategy === 'keep' ? [] : [field]))
  if (treated.length === 0) return null
  const treat = (field: PseudonymizationField, value: unknown): unknown => {
    const strategy = plan.get(field) ?? 'keep'
    if (value === null || value === undefined || strategy === 'keep') return value ?? null
    return strategy === 'clear' ? null : chanceText()
  }
  const profile: Record<string, unknown> = { ...user.profile }
  const treatProfile = (name: string, field: PseudonymizationField): void => {
    const value = treat(field, profile[name])
    if (value === null) delete profile[name]
    else profile[name] = value
  }
  for (const name of ['first_name', 'last_name', 'displayname'] as const) treatProfile(name, name)
  for (const name of additionalInfo) treatProfile(name, 'additional_info')
  const pictureId = (plan.get('additional_info') ?? 'keep') === 'keep' ? user.pictureId : null
  const login = treat('login', user.login) as string | null
  const email = treat('_emails', user.email) as string | null
  const displayname = displaynameOf({ ...profile, login, email })
  await store.setIdentity(tx, user.id, {
    login,
    loginKey: login === null ? null : identityKey(login),
    email,
    emailKey: email === null ? null : identityKey(email),
    profile,
    pictureId,
    displayname,
  })
  if (user.pictureId !== null && pictureId === null) await pictures.givenUp(tx, [user.pictureId])
  return {
    userId: user.id,
    displayname,
    ...(treated.includes('login') ? { login } : {}),
    fields: treated.flatMap((field) => (field === 'additional_info' ? additionalInfo : field)),
  }
}

/** A random text, which discloses nothing of the original and is unique. */
const chanceText = (): string => randomBytes(12).toString('hex')
