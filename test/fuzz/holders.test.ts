import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claims } from '../../fuzz/claims.ts'
import { gainedBetween, rightsOf } from '../../fuzz/gained.ts'
import { exempt, held, isAbout, shownTo } from '../../fuzz/holders.ts'
import { wireOf } from '../../fuzz/request.ts'
import { secretDate, secretIn, secretOf } from '../../fuzz/secrets.ts'
import { assembled, startOrigin } from '../../fuzz/stage.ts'
import { rightsCatalogue } from '../../src/rights/catalogue.ts'

test('each right that the service asks for has somebody who has it alone, and what it may show is told of rights that exist', () => {
  const logins = held.map(({ login }) => login)
  for (const context of ['system', 'pool', 'objecttype-without-pool', 'tag', 'user', 'group'] as const) {
    for (const { name, asker } of rightsCatalogue[context].rights) {
      const alone = asker === undefined && name !== 'system.root'
      assert.equal(logins.includes(`${context}-${name}`), alone, `${context} ${name}`)
    }
  }
  assert.deepEqual(
    exempt.filter((login) => !logins.includes(login)),
    [],
  )
})

test('what may be shown to somebody is no leak, and nothing else', () => {
  assert.ok(isAbout('pool-bag_write', 'savePools'))
  const text = `{"name":"${secretOf('pool')}"}`
  assert.equal(secretIn(text, shownTo('pool-bag_read')), -1)
  assert.ok(secretIn(text, shownTo('user-bag_read')) > 0)
  assert.ok(secretIn(text, []) > 0)
  assert.ok(secretIn(`{"made":"${secretDate}","name":"${secretOf('pool')}"}`, shownTo('pool-bag_read')) > 0)
})

test('every claim is carried out for root, and what it gives to somebody is found as gained', async () => {
  await using origin = await startOrigin()
  await origin.addHolders()
  const { world, description } = origin
  await using stage = await origin.stage()
  const { root } = stage.callers
  const claimant = world.holders.find(({ login }) => login === 'system-system.message')
  assert.ok(claimant)
  assert.deepEqual(gainedBetween(world.rights, await rightsOf(root, world, world.holders)), [])
  for (const claim of claims) {
    const operation = description.operations.find(({ operationId }) => operationId === claim.operationId)
    assert.ok(operation, claim.operationId)
    const request = assembled(operation, await claim.make(stage.scene, claimant.id), root)
    const { status, body } = await root.send(wireOf(request))
    assert.ok(
      status === 200 || status === 202,
      `${claim.operationId}: ${JSON.stringify(request.body)}: ${status} ${body}`,
    )
  }
  const gained = gainedBetween(world.rights, await rightsOf(root, world, world.holders))
  // Groups that they were put into count for nobody else.
  assert.deepEqual(
    gained.map(({ login }) => login),
    [claimant.login],
  )
  const what = gained[0]?.what ?? []
  for (const one of ['closed: bag_acl', 'vault: read', 'person: create', 'hidden user: acl', 'hidden group: link'])
    assert.ok(what.includes(one), `${one} is not in ${what.join(', ')}`)
  assert.ok(what.some((one) => one.startsWith('system.root')))
})
