/**
 * One statement for all requests that ask within one turn of the event loop: a statement costs more than the few rows that it
 * reads. What it answers was true after each of them had asked. All get the whole answer and take their part of it.
 *
 * @param most questions that one statement is asked at most; `sizeOf` says how many a question counts for.
 */
export function createBatchLoader<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<Answer>,
  { most, sizeOf = () => 1 }: { readonly most: number; readonly sizeOf?: (question: Question) => number },
): (question: Question) => Promise<Answer> {
  interface Batch {
    readonly questions: Question[]
    size: number
    readonly answer: Promise<Answer>
  }
  let gathering: Batch | null = null

  function begin(): Batch {
    const questions: Question[] = []
    const answer = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (gathering === batch) gathering = null
      return ask(questions)
    })
    const batch: Batch = { questions, size: 0, answer }
    return batch
  }

  return (question) => {
    gathering ??= begin()
    const batch = gathering
    batch.questions.push(question)
    batch.size += sizeOf(question)
    if (batch.size >= most) gathering = null
    return batch.answer
  }
}
