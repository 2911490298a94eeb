#include "engines/redis/client/resp.hpp"

#include "base/text.hpp"

#include <hiredis/read.h>

#include <charconv>
#include <cstring>

namespace pawl::redis {

void append_header(std::string& out, char marker, std::size_t number) {
    char text[24];
    text[0] = marker;
    auto* end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(text, static_cast<std::size_t>(end - text));
}

command_writer::command_writer(std::string& out, std::size_t parts) : out_{out} {
    append_header(out_, '*', parts);
}

command_writer& command_writer::add(std::string_view part) {
    append_header(out_, '$', part.size());
    out_.append(part).append("\r\n", 2);
    return *this;
}

command_writer& command_writer::add(std::int64_t number) {
    char text[24];
    const auto* end = std::to_chars(text, text + sizeof text, number).ptr;
    return add(std::string_view{text, static_cast<std::size_t>(end - text)});
}

command_writer& command_writer::add(std::string_view head, std::string_view tail) {
    append_header(out_, '$', head.size() + tail.size());
    out_.append(head).append(tail).append("\r\n", 2);
    return *this;
}

// The callbacks of hiredis. Each returns the place of the new value, or null to give up.
struct reply_builder {
    static reply_parser& parser(const redisReadTask* task) {
        return *static_cast<reply_parser*>(task->privdata);
    }

    static void* text(const redisReadTask* task, char* bytes, std::size_t size) {
        auto* place = parser(task).slot(task);
        place->kind = task->type == REDIS_REPLY_ERROR    ? reply_kind::error
                      : task->type == REDIS_REPLY_STATUS ? reply_kind::status
                                                         : reply_kind::text;
        place->text.assign(bytes, size);
        return place;
    }

    static void* array(const redisReadTask* task, int elements) {
        auto& owner = parser(task);
        const auto count = static_cast<std::size_t>(elements < 0 ? 0 : elements);
        if (count > owner.bounds_.elements_max - owner.elements_) return nullptr;
        owner.elements_ += count;
        auto* place = owner.slot(task);
        place->kind = reply_kind::array;
        place->elements.resize(count);
        return place;
    }

    static void* integer(const redisReadTask* task, long long number) {
        auto* place = parser(task).slot(task);
        place->kind = reply_kind::integer;
        place->number = number;
        return place;
    }

    static void* nil(const redisReadTask* task) {
        auto* place = parser(task).slot(task);
        place->kind = reply_kind::nil;
        return place;
    }

    // The parser owns all of the reply.
    static void free(void*) {}

    static redisReplyObjectFunctions functions;
};

redisReplyObjectFunctions reply_builder::functions{text, array, integer, nil, free};

reply_parser::reply_parser(reply_bounds bounds)
    : bounds_{bounds},
      reader_{redisReaderCreateWithFunctions(&reply_builder::functions), redisReaderFree} {
    if (!reader_)
        fault_ = "out of memory";
    else
        reader_->privdata = this;
}

reply_parser::~reply_parser() = default;

reply* reply_parser::slot(const redisReadTask* task) noexcept {
    if (task->parent == nullptr) return &root_;
    return &static_cast<reply*>(task->parent->obj)->elements[static_cast<std::size_t>(task->idx)];
}

void reply_parser::feed(std::string_view bytes) {
    if (fault_) return;
    unread_ += bytes.size();
    if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK)
        fault_ = "out of memory";
}

result<std::optional<reply>> reply_parser::next() {
    if (fault_) return failure{errc::protocol, *fault_};
    void* complete = nullptr;
    if (redisReaderGetReply(reader_.get(), &complete) != REDIS_OK) {
        // Out of memory is what hiredis makes of an array that we refused to build.
        fault_ = reader_->err == REDIS_ERR_OOM ? "a reply with too many elements"
                                               : base::printable(reader_->errstr);
        return failure{errc::protocol, *fault_};
    }
    if (complete == nullptr) {
        if (unread_ <= bounds_.bytes_max) return std::optional<reply>{};
        fault_ = "a reply of more than " + std::to_string(bounds_.bytes_max) + " bytes";
        return failure{errc::protocol, *fault_};
    }
    elements_ = 0;
    // Bytes of the replies behind this one count from here: an upper bound is enough.
    unread_ = reader_->len - reader_->pos;
    std::optional<reply> done{std::move(root_)};
    root_ = reply{};
    return done;
}

}  // namespace pawl::redis
