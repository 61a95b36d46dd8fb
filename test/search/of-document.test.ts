import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ofDocuments, predicateSql } from '../../src/search/postgres/query/access/predicate.ts'
import { visibleSql } from '../../src/search/postgres/query/access/visibility.ts'
import { conjunction, ofSql } from '../../src/search/postgres/query/sql/conditions.ts'
import {
  type DocumentSql,
  documentSql,
  isOfDocument,
  joined,
  madeOf,
  type Sql,
} from '../../src/search/postgres/query/sql/of-document.ts'
import { Parameters } from '../../src/search/postgres/query/sql/sql.ts'
import { lexeme, type Node } from '../../src/search/postgres/query/sql/tsquery.ts'

test('a condition is about the document alone when all that it is made of says so, however it is put together', () => {
  const part = fc.record({ text: fc.constantFrom('d.id = 1', 'd.deleted', 'f(d.id)'), says: fc.boolean() })
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const sql = parts.map(({ text, says }): Sql => (says ? documentSql(text) : text))
      const all = parts.every(({ says }) => says)
      const whole = joined(sql, ' and ')
      assert.equal(isOfDocument(whole), all)
      assert.equal(String(whole), parts.map(({ text }) => text).join(' and '))
      assert.equal(isOfDocument(madeOf([whole], `not (${whole})`)), all)
      assert.equal(isOfDocument(visibleSql('never', whole, 'd')), all)
      const condition = conjunction(sql.map(ofSql))
      assert.ok(!condition.never)
      assert.equal(isOfDocument(condition.sql), all)
    }),
  )
})

test('what says nothing is not kept: neither a text, nor one that was made of what says it', () => {
  const alone: DocumentSql = documentSql('d.id = 1')
  // It asks nothing of other objects by a word that anybody could look for.
  assert.equal(isOfDocument('is_readable(d.id)'), false)
  assert.equal(isOfDocument(`${alone} and now() > d.created_at`), false)
  assert.equal(isOfDocument(null), false)
  assert.equal(isOfDocument(alone), true)
})

test('lexemes are of the document alone, whatever word they have; links to objects that are not known are not', () => {
  const sqlOf = (node: Node): Sql => predicateSql(node, ofDocuments('d'), new Parameters())
  const word = lexeme('select')
  assert.equal(isOfDocument(sqlOf(word)), true)
  assert.equal(isOfDocument(sqlOf({ op: 'not', of: { op: 'and', of: [word, lexeme('from')] } })), true)
  const linked: Node = {
    op: 'linked',
    column: 1,
    code: '1',
    target: 2,
    of: word,
    ids: null,
    candidates: word,
    readable: () => 'true',
  }
  assert.equal(isOfDocument(sqlOf(linked)), false)
  assert.equal(isOfDocument(sqlOf({ op: 'or', of: [word, linked] })), false)
  assert.equal(isOfDocument(sqlOf({ op: 'not', of: linked })), false)
})
