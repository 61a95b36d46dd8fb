import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applicableTransitions } from '../../src/transitions/applicable.ts'
import { confirmationOf } from '../../src/transitions/confirm.ts'
import { type Transition, transitionTypes } from '../../src/transitions/model.ts'
import { actor, object, plan, setTags, tags, transition } from './support.ts'

const fired = (list: Transition[], ...rest: Parameters<typeof plan> extends [unknown, ...infer R] ? R : never) =>
  plan(list, ...rest).objects[0]?.fired.map(({ id }) => id)

test('a transition fires when operation, object type, who and both states fit', () => {
  const fits = (settings: Partial<Transition>, change = object()) => fired([transition(settings)], change)?.length === 1
  assert.ok(fits({}))
  assert.ok(!fits({ operations: [] }), 'no operation: switched off')
  assert.ok(!fits({ operations: ['DELETE'] }))
  assert.ok(fits({ operations: ['DELETE'] }, object({ operation: 'DELETE' })))
  assert.ok(fits({ objecttypeIds: [1, 2] }))
  assert.ok(!fits({ objecttypeIds: [2] }))
  assert.ok(fits({ before: tags({ all: [1] }) }, object({ tagsBefore: [1], tagsAfter: [2] })))
  assert.ok(!fits({ before: tags({ all: [2] }) }, object({ tagsBefore: [1], tagsAfter: [2] })))
  assert.ok(fits({ after: tags({ all: [2] }) }, object({ tagsBefore: [1], tagsAfter: [2] })))
  assert.ok(fits({ after: tags({ changed: [2] }) }, object({ tagsBefore: [1], tagsAfter: [1, 2] })))
  assert.ok(!fits({ after: tags({ changed: [1] }) }, object({ tagsBefore: [1], tagsAfter: [1, 2] })))
  assert.ok(!fits({ before: tags({ any: [1] }) }, object({ operation: 'INSERT', tagsBefore: null, tagsAfter: [1] })))
  assert.ok(!fits({ trigger: 'manual' }))
  assert.ok(!fits({ trigger: 'event' }))
})

test('who: users, groups, the owner and the pool contact; who_not turns it round; nobody named is everybody', () => {
  const table: [Transition['who'], boolean][] = [
    [[], true],
    [['u10'], true],
    [['u11'], false],
    [['u11', 'g20'], true],
    [['g21'], false],
    [['owner'], true],
    [['contact'], false],
  ]
  for (const [who, expected] of table) {
    const runs = (whoNot: boolean) => fired([transition({ who, whoNot })])?.length === 1
    assert.equal(runs(false), expected, who.join())
    assert.equal(runs(true), who.length === 0 || !expected, `not ${who.join()}`)
  }
  assert.equal(fired([transition({ who: ['owner'] })], object({ owner: 'u11' }))?.length, 0)
  assert.equal(fired([transition({ who: ['owner'] })], object({ owner: 'g20' }))?.length, 1)
  assert.equal(fired([transition({ who: ['owner'] })], object({ owner: null }))?.length, 0)
  assert.equal(fired([transition({ who: ['contact'] })], object({ poolContact: 'u10' }))?.length, 1)
})

test('types: the last word counts, exit ends the evaluation', () => {
  const outcome = (...types: Transition['type'][]) => {
    const list = types.map((type) => transition({ type }))
    const { objects } = plan(list)
    return [objects[0]?.rejectedBy === null ? 'saved' : 'rejected', objects[0]?.fired.length]
  }
  assert.deepEqual(outcome(), ['saved', 0])
  assert.deepEqual(outcome('process'), ['saved', 1])
  assert.deepEqual(outcome('reject'), ['rejected', 1])
  assert.deepEqual(outcome('reject', 'process'), ['rejected', 2])
  assert.deepEqual(outcome('reject', 'resolve'), ['saved', 2])
  assert.deepEqual(outcome('resolve', 'reject'), ['rejected', 2])
  assert.deepEqual(outcome('exit_resolve', 'reject'), ['saved', 1])
  assert.deepEqual(outcome('exit_reject', 'resolve'), ['rejected', 1])
  assert.deepEqual(outcome('reject', 'exit_resolve'), ['saved', 2])
  assert.deepEqual(outcome('reject', 'resolve', 'process', 'reject', 'exit_resolve', 'reject'), ['saved', 5])
})

test('actions run in order, and a transition sees the tags as the ones before left them', () => {
  const publish = transition({
    after: tags({ all: [1] }),
    actions: [setTags(3, 4), { type: 'change_owner', owner: 'g20' }],
  })
  const announce = transition({ after: tags({ all: [3] }), actions: [setTags(5, -4)] })
  const { objects } = plan([publish, announce], object({ tagsAfter: [1, 6] }))
  assert.deepEqual(objects[0]?.tagsAfter, [6, 3, 5], 'setting 3 takes 1 of the same choice group away')
  assert.equal(objects[0]?.owner, 'g20')
  assert.deepEqual(fired([announce, publish], object({ tagsAfter: [1] })), [publish.id])
})

test('each transition fires once at most, so nothing goes round in circles', () => {
  const on = transition({ after: tags({ not: [4] }), actions: [setTags(4)] })
  const off = transition({ after: tags({ all: [4] }), actions: [setTags(-4)] })
  assert.deepEqual(fired([on, off, on]), [on.id, off.id, on.id])
  assert.deepEqual(fired([off, on], object({ tagsAfter: [4] })), [off.id, on.id])
})

test('remote actions are collected for all objects of the batch, and only for those that are accepted', () => {
  const webhook = { type: 'webhook', name: 'hook' } as const
  const tell = transition({ actions: [setTags(4), webhook] })
  const refuse = transition({ type: 'reject', objecttypeIds: [2], actions: [webhook] })
  const objects = [object({ key: 'a' }), object({ key: 'b', objecttypeId: 2 }), object({ key: 'c' })]
  const { effects, rejectionEffects } = plan([tell, refuse], objects)
  const shown = (list: typeof effects) =>
    list.map((effect) => [effect.transition.id, effect.index, effect.objects.map(({ key }) => key)])
  assert.deepEqual(shown(effects), [[tell.id, 1, ['a', 'c']]])
  assert.deepEqual(shown(rejectionEffects), [[refuse.id, 0, ['b']]])
})

test('a manual transition runs first, brings about the state it asks for, and the automatic ones follow', () => {
  const publish = transition({
    trigger: 'manual',
    operations: [],
    before: tags({ all: [2] }),
    after: tags({ all: [3], changed: [3] }),
    actions: [setTags(3)],
  })
  const mark = transition({ after: tags({ changed: [3] }), actions: [setTags(5)] })
  const trigger = { kind: 'manual', transitionId: publish.id } as const
  const done = plan([mark, publish], object({ tagsBefore: [2], tagsAfter: [2] }), { trigger })
  assert.deepEqual(done.objects[0]?.tagsAfter, [3, 5])
  assert.equal(done.objects[0]?.inapplicable, false)
  const misfit = plan([mark, publish], object({ tagsBefore: [1], tagsAfter: [1] }), { trigger })
  assert.deepEqual([misfit.objects[0]?.inapplicable, misfit.objects[0]?.fired], [true, []])
  const unknown = plan([mark], object(), { trigger })
  assert.equal(unknown.objects[0]?.inapplicable, true)
})

test('an event transition runs alone, for whoever was there', () => {
  const archive = transition({ trigger: 'event', who: ['u99'], operations: [], actions: [setTags(6)] })
  const done = plan([transition({ actions: [setTags(5)] }), archive], object(), {
    trigger: { kind: 'event', transitionId: archive.id },
  })
  assert.deepEqual(done.objects[0]?.tagsAfter, [6])
})

test('any list over any batch: the plan is a function of its input, and no choice group is violated', () => {
  const anyTransition = fc
    .record({
      type: fc.constantFrom(...transitionTypes),
      set: fc.array(
        fc.integer({ min: -6, max: 6 }).filter((id) => id !== 0),
        { maxLength: 4 },
      ),
      all: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 2 }),
      not: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 2 }),
    })
    .map(({ type, set, all, not }) => transition({ type, after: tags({ all, not }), actions: [setTags(...set)] }))
  const choice = fc.constantFrom<number[]>([], [1], [2], [3])
  const free = fc.uniqueArray(fc.integer({ min: 4, max: 6 }), { maxLength: 3 })
  fc.assert(
    fc.property(fc.array(anyTransition, { maxLength: 8 }), choice, free, (list, one, others) => {
      const change = object({ tagsAfter: [...one, ...others] })
      const first = plan(list, change)
      assert.deepEqual(first, plan(list, change))
      const [result] = first.objects
      assert.ok((result?.tagsAfter ?? []).filter((id) => id <= 3).length <= 1)
      assert.equal(new Set(result?.tagsAfter).size, result?.tagsAfter.length)
      const exit = list.findIndex((each) => each === result?.fired.at(-1) && each.type.startsWith('exit'))
      if (exit >= 0) assert.equal(result?.fired.filter((each) => list.indexOf(each) > exit).length, 0)
      const lastWord = result?.fired.findLast((each) => each.type !== 'process')
      assert.equal(result?.rejectedBy !== null, lastWord?.type.endsWith('reject') === true)
    }),
    { numRuns: 500 },
  )
})

test('lists: of the instance, the object type, the pools; private ones take over sticky transitions only', () => {
  const [general, sticky, ofType, ofRoot, ofRootSticky, ofPool] = [
    transition(),
    transition({ sticky: true }),
    transition(),
    transition(),
    transition({ sticky: true }),
    transition(),
  ]
  const ids = (typePrivate: boolean, rootPrivate: boolean, poolPrivate: boolean) =>
    applicableTransitions([general, sticky], { private: typePrivate, transitions: [ofType] }, [
      { private: rootPrivate, transitions: [ofRoot, ofRootSticky] },
      { private: poolPrivate, transitions: [ofPool] },
    ])
  assert.deepEqual(ids(false, false, false), [general, sticky, ofType, ofRoot, ofRootSticky, ofPool])
  assert.deepEqual(ids(true, false, false), [sticky, ofType, ofRoot, ofRootSticky, ofPool])
  assert.deepEqual(ids(false, true, false), [sticky, ofType, ofRoot, ofRootSticky, ofPool])
  assert.deepEqual(ids(false, false, true), [sticky, ofType, ofRootSticky, ofPool])
})

test('the token confirms exactly what was shown: texts, versions, tags before and after, who asks', () => {
  const ask = transition({ confirm: { 'en-US': 'Sure?', 'de-DE': 'Sicher?' }, actions: [setTags(4)] })
  const token = (list = [ask], change = object(), more = {}) =>
    confirmationOf(plan(list, change, more), undefined, 'secret')?.token
  const first = token()
  assert.ok(first)
  assert.equal(token(), first)
  assert.equal(
    token([ask], object({ tagsBefore: [5, 6], tagsAfter: [5] })),
    token([ask], object({ tagsBefore: [6, 5], tagsAfter: [5] })),
  )
  const different = [
    token([{ ...ask, version: 2 }]),
    token([ask], object({ version: 2 })),
    token([ask], object({ tagsBefore: [5] })),
    token([ask], object({ tagsAfter: [5] })),
    token([ask], object({ systemObjectId: 101 })),
    token([ask], object(), { actor: { ...actor, userId: 11 } }),
    token([ask, transition({ confirm: { 'en-US': 'Really?' } })]),
    confirmationOf(plan([ask]), undefined, 'other secret')?.token,
  ]
  assert.equal(new Set([first, ...different]).size, different.length + 1)
  assert.equal(confirmationOf(plan([ask]), first, 'secret'), null)
  assert.equal(confirmationOf(plan([ask]), `${first}x`, 'secret')?.token, first)
  assert.deepEqual(confirmationOf(plan([ask]), undefined, 'secret')?.texts, ['Sure?'])
  assert.equal(confirmationOf(plan([transition()]), undefined, 'secret'), null)
  assert.equal(
    confirmationOf(plan([{ ...ask, type: 'reject' }]), undefined, 'secret'),
    null,
    'a refusal is not asked about',
  )
})
