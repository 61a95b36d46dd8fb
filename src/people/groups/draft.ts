import { AppError, badRequest } from '../../platform/errors.ts'
import { storedReference } from '../../platform/values/system-references.ts'
import type { StoredGroup } from '../model.ts'
import { parseNetwork } from '../networks.ts'
import { profileOf, textOf } from '../record-input.ts'
import { type GroupInput, groupProfileFields } from '../schema.ts'
import { groupMapsOf } from './directory-rules.ts'
import type { GroupRow } from './store.ts'

/** Columns of a group that come from the record itself. */
export type GroupDraft = Omit<GroupRow, 'id' | 'version' | 'acl' | 'owner_user' | 'owner_group' | 'system_rights'>

/** Applies the input to the stored group, or to an empty one. @throws {AppError} with the path and the reason */
export function draftGroup(input: GroupInput, stored: StoredGroup | null, path: string): GroupDraft {
  const { group } = input
  const type = typeOf(group.type, stored, `${path}.group.type`)
  const name = textOf(group.name, stored?.name ?? null)?.normalize('NFC') ?? null
  const named = textOf(group.reference, stored?.reference ?? null)
  const reference = named === null ? null : storedReference('group', named)
  assertReference(reference, stored, `${path}.group.reference`)
  if (stored?.type === 'system' && name !== stored.name) {
    throw new AppError('ColumnCanNotBeUpdated', { column: 'group.name' })
  }
  const { _ip_subnet_filter_exclude: exclude, _two_fa_required: required } = input
  return {
    type,
    name,
    reference,
    displayname: displaynameOf(group.displayname, stored),
    profile: profileOf(groupProfileFields, group, stored?.profile),
    pseudonymization: pseudonymizationOf(input, stored),
    auth_method_group_maps: groupMapsOf(input, stored, `${path}._auth_method_group_maps`),
    ip_subnet_filter: networksOf(input._ip_subnet_filter, stored, `${path}._ip_subnet_filter`),
    ip_subnet_filter_exclude: exclude === undefined ? (stored?.ipSubnetFilterExclude ?? false) : (exclude ?? false),
    two_fa_required: required === undefined ? (stored?.twoFactorRequired ?? false) : (required ?? false),
  }
}

/** Only fields with a strategy are stored. For other fields the group has no rule. */
function pseudonymizationOf({ _pseudonymization: given }: GroupInput, stored: StoredGroup | null) {
  if (given === undefined) return { ...stored?.pseudonymization }
  const said = Object.entries(given?.user ?? {}).filter(([, strategy]) => typeof strategy === 'string')
  return said.length === 0 ? {} : { user: Object.fromEntries(said) }
}

function typeOf(given: string | null | undefined, stored: StoredGroup | null, path: string): string {
  if (given === undefined || given === null || given === stored?.type) return stored?.type ?? 'native'
  if (stored) throw new AppError('GroupTypeChangeNotAllowed', { path, type: given, stored: stored.type })
  if (given !== 'native') throw new AppError('GroupTypeNotAllowed', { path, type: given, allowed: ['native'] })
  return given
}

function assertReference(reference: string | null, stored: StoredGroup | null, path: string): void {
  if (reference === (stored?.reference ?? null)) return
  if (stored?.type === 'system') throw new AppError('ColumnCanNotBeUpdated', { column: 'group.reference' })
  if (reference !== null && /^(system:|:)/.test(reference)) {
    throw badRequest(`${path} begins like the references of the service itself`, { path, reference })
  }
}

function displaynameOf(given: Record<string, string | null> | null | undefined, stored: StoredGroup | null) {
  if (given === undefined) return { ...stored?.displayname }
  const named = Object.entries(given ?? {}).filter((entry): entry is [string, string] => Boolean(entry[1]?.trim()))
  return Object.fromEntries(named)
}

function networksOf(given: string[] | null | undefined, stored: StoredGroup | null, path: string): readonly string[] {
  if (given === undefined) return stored?.ipSubnetFilter ?? []
  const networks = (given ?? []).map((cidr) => cidr.trim())
  networks.forEach((cidr, index) => {
    if (!parseNetwork(cidr)) {
      throw badRequest(`${path}[${index}] must be a network such as 192.168.0.0/16`, {
        path: `${path}[${index}]`,
        value: cidr,
      })
    }
  })
  return [...new Set(networks)]
}
