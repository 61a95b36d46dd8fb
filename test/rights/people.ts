import assert from 'node:assert/strict'
import type { Client, Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

export interface People {
  readonly root: Client
  /** `system.poolmanager`, in the group `staff`. */
  readonly editor: Client
  /** In the group `staff`. */
  readonly reader: Client
  /** In no group of its own. */
  readonly stranger: Client
  readonly ids: Readonly<Record<'editor' | 'reader' | 'stranger' | 'staff', number>>
}

async function create(root: Client, path: string, entry: object): Promise<Json> {
  const { status, body } = await root.post(path, [entry])
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]
}

/** A group and three users, made through the front door; the password of each is its login. */
export async function seedPeople(svc: TestService): Promise<People> {
  const root = svc.as('root')
  const { group } = await create(root, '/group', { group: { name: 'staff', reference: 'staff' } })
  const inStaff = [{ _basetype: 'group', group: { _id: group._id } }]
  const user = async (login: string, more: object) => {
    const { body } = await root.post('/user', [{ user: { login, reference: login }, _password: login, ...more }], {
      confirm: 'ignore_password_requirements',
    })
    assert.equal(body[0]?.user?.login, login, JSON.stringify(body))
    return body[0].user._id as number
  }
  const ids = {
    editor: await user('editor', { _groups: inStaff, _system_rights: { 'system.poolmanager': {} } }),
    reader: await user('reader', { _groups: inStaff }),
    stranger: await user('stranger', {}),
    staff: group._id as number,
  }
  return { root, editor: svc.as('editor'), reader: svc.as('reader'), stranger: svc.as('stranger'), ids }
}

/** A group of tags with one tag in it, whose reference is `public`; gives the id of the tag. */
export async function seedTag(root: Client): Promise<number> {
  const group = await create(root, '/tags', {
    taggroup: { displayname: { 'en-US': 'State' } },
    _tags: [{ displayname: { 'en-US': 'Public' }, reference: 'public' }],
  })
  return group._tags[0]._id
}

export const toUser = (id: number) => ({ _basetype: 'user', user: { _id: id } })
export const toGroup = (id: number) => ({ _basetype: 'group', group: { _id: id } })

/** A grant as clients send it. */
export function wireGrant(who: object, rights: string, more: object = {}): object {
  return { who, rights: Object.fromEntries(rights.split(' ').map((name) => [name, {}])), ...more }
}
