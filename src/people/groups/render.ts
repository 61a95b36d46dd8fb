import type { StoredGroup } from '../model.ts'
import { type PersonRight, shownRights } from '../person-rights.ts'
import { groupName, type PrincipalNames, renderWho } from '../principals.ts'
import { present } from '../record-input.ts'
import type { GroupOutput } from '../schema.ts'

export interface GroupRenderContext {
  /** Whether the caller may manage groups: only then settings are shown. */
  manages: boolean
  /** The rights of the caller on the group, by grants or otherwise. */
  effective: readonly PersonRight[]
  names: PrincipalNames
  /** As clients see it; null: not shown. */
  acl: readonly unknown[] | null
  languages: readonly string[]
}

export function renderGroup(
  group: StoredGroup,
  { manages, names, acl, languages, effective }: GroupRenderContext,
): GroupOutput {
  const { comment, ...profile } = group.profile
  const fields = { ...groupFields(group, languages), ...profile, ...(manages ? present({ comment }) : {}) }
  const times = { _created_at: group.createdAt.toISOString(), _updated_at: group.updatedAt.toISOString() }
  const _generated_rights = shownRights(effective)
  if (!manages) return { _basetype: 'group', group: fields, _generated_rights, ...present({ _acl: acl }), ...times }
  const settings = {
    _system_rights: group.systemRights,
    _acl: acl ?? [],
    _pseudonymization: group.pseudonymization,
    _auth_method_group_maps: group.authMethodGroupMaps,
    _ip_subnet_filter: group.ipSubnetFilter,
    _ip_subnet_filter_exclude: group.ipSubnetFilterExclude,
    _two_fa_required: group.twoFactorRequired,
    ...present({ _owner: renderWho(group.owner, names) }),
  }
  return { _basetype: 'group', group: fields, _generated_rights, ...settings, ...times }
}

/** The fields of a group that every reader sees. */
export function groupFields(
  group: Pick<StoredGroup, 'id' | 'version' | 'name' | 'reference' | 'displayname'> & { readonly type: string },
  languages: readonly string[],
) {
  return {
    _id: group.id,
    _version: group.version,
    type: group.type,
    ...present({ name: group.name, reference: group.reference }),
    displayname: group.displayname,
    _generated_displayname: groupName(group, languages).displayname,
  }
}
