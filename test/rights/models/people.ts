import assert from 'node:assert/strict'
import type { Client, Json } from '../../support/client.ts'
import { isOf } from './knowledge.ts'
import type { Asking } from './reads.ts'
import type { Who } from './world.ts'

/** What is told of rights and to people: explanations of rights, and messages to groups. */

const rights = ['read', 'write', 'delete', 'unlink', 'link', 'acl'] as const

/** Root is told why the caller may do something with some of the objects; the caller itself may not ask. */
export async function askExplanations(asking: Asking, root: Client, count: number): Promise<void> {
  const { client, heard, knowledge, names, pick, who, world } = asking
  if (world.things.length === 0) return
  for (let n = 0; n < count; n++) {
    const { index } = pick(world.things)
    const query = { user: names.users[knowledge.caller] as number, system_object_id: names.ids[index] as number }
    const what = `what ${who} may do with ${names.ids[index]} is explained`
    const { status, body } = await root.get('/right/explain', query)
    assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    for (const right of rights) {
      const said = body.rights.find(({ name }: Json) => name === right)
      assert.equal(said.holds, knowledge.may(right, index), `${what}: ${right} ${JSON.stringify(said)}`)
      assert.equal(said.by.length > 0, said.holds, `${what}: ${right}`)
    }
    const own = await client.get('/right/explain', query)
    assert.deepEqual([own.status, own.body.code], [403, 'SystemRightRequired'], what)
    heard(own.body, what)
  }
}

/** By title: for whom a message is. The same in all worlds. */
export const messages: Readonly<Record<string, Who>> = { 'to the first': 'g0', 'to the second': 'g1', 'to all': 'all' }

export async function askMessages({ client, knowledge, who }: Asking): Promise<void> {
  const { status, body } = await client.get('/message/mine')
  const expected = Object.entries(messages).flatMap(([title, to]) => (isOf(to, knowledge.caller) ? [title] : []))
  const told = body.map(({ message }: Json) => message.title['en-US'])
  assert.deepEqual([status, told.toSorted()], [200, expected.toSorted()], `${who} is told messages`)
  assert.equal((await client.get('/message')).status, 403)
}
