/**
 * The section `register` of other clients: it is `registration` with other names. It is accepted and never returned, so that a
 * configuration that was read here and is sent back contains everything once.
 */
import { isRecord } from '../platform/values/records.ts'
import { wrong } from './fields/field.ts'

const path = 'system/config/register'

/** Fields of their form, with the corresponding fields here. */
const formFields = {
  first_name: ['first_name'],
  last_name: ['last_name'],
  displayname: ['displayname'],
  company: ['company'],
  department: ['department'],
  phone: ['phone'],
  address: ['address_supplement', 'street', 'house_number', 'postal_code', 'town', 'country'],
} as const

/** This part of an address is optional even if the address is required, because not every address has a supplement. */
const neverRequired: readonly string[] = ['address_supplement']

/**
 * The sections with `register` converted to `registration`.
 * @throws {AppError} `ServerGeneric` with the path of an unsupported member.
 */
export function withRegistration(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { register, ...others } = config
  if (register === undefined) return others
  if (others.registration !== undefined) throw wrong(path, 'left out beside registration, which it is here')
  return { ...others, registration: registrationOf(register) }
}

function registrationOf(register: unknown): Record<string, unknown> {
  if (!isRecord(register)) throw wrong(path, 'an object')
  const { enable, form, groups, info, ...unknown } = register
  const [other] = Object.keys(unknown)
  if (other !== undefined) throw wrong(`${path}/${other}`, 'left out: there is no such member')
  return {
    ...(enable === undefined ? {} : { active: enable }),
    ...(info === undefined ? {} : { info }),
    ...(form === undefined || form === null ? {} : { fields: fieldsOf(form) }),
    ...(groups === undefined || groups === null ? {} : { groups: groupsOf(groups) }),
  }
}

function fieldsOf(form: unknown): { readonly name: string; readonly required: boolean }[] {
  if (!isRecord(form)) throw wrong(`${path}/form`, 'an object')
  const { use_in_user_manager: elsewhere, ...shown } = form
  if (elsewhere) throw wrong(`${path}/form/use_in_user_manager`, 'off: users are managed with all fields')
  const unknown = Object.keys(shown).find((name) => !Object.hasOwn(formFields, name))
  if (unknown !== undefined) throw wrong(`${path}/form/${unknown}`, 'left out: there is no such field')
  return Object.entries(formFields).flatMap(([name, fields]) => {
    const said = shown[name] ?? 'hide'
    if (said !== 'hide' && said !== 'show' && said !== 'require') {
      throw wrong(`${path}/form/${name}`, 'one of hide, require, show')
    }
    if (said === 'hide') return []
    return fields.map((field) => ({ name: field, required: said === 'require' && !neverRequired.includes(field) }))
  })
}

function groupsOf(groups: unknown): { readonly group_id: unknown }[] {
  if (!Array.isArray(groups)) throw wrong(`${path}/groups`, 'a list')
  return groups.map((row, index) => {
    if (!isRecord(row) || row.group === undefined) throw wrong(`${path}/groups/${index}`, 'an object with group')
    return { group_id: row.group }
  })
}
